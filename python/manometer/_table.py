"""Results as tables: for pandas, for polars, and in notebooks."""

from __future__ import annotations

from abc import abstractmethod
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingTypeStubs]
    import polars

# A notebook shows no more rows than this.
_SHOWN = 60


class Table:
    """What has a row for each phase."""

    @abstractmethod
    def _rows(self) -> list[dict[str, Any]]:
        """The rows, all with the same columns; None is a gap."""

    @abstractmethod
    def _sentences(self) -> list[str]:
        """What stands above the rows in a notebook."""

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame with a row for each phase; a gap is missing. Needs pandas.

        >>> list(manometer.demo().to_pandas().columns[:3])
        ['phase', 'label', 'kind']
        """
        import pandas  # pyright: ignore[reportMissingTypeStubs]

        return pandas.DataFrame(self._rows())

    def to_polars(self) -> polars.DataFrame:
        """A polars DataFrame with a row for each phase; a gap is null. Needs polars.

        >>> manometer.demo().to_polars().columns[:3]
        ['phase', 'label', 'kind']
        """
        import polars

        # A column may begin with many gaps.
        return polars.DataFrame(self._rows(), infer_schema_length=None)

    def _repr_html_(self) -> str:
        """The sentences and the rows, for notebooks."""
        rows = self._rows()
        above = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._sentences())
        names = list(rows[0]) if rows else []
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join("<tr>" + "".join(_cell(row[name]) for name in names) + "</tr>" for row in rows[:_SHOWN])
        more = f"<p>… and {len(rows) - _SHOWN} rows more</p>" if len(rows) > _SHOWN else ""
        return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value:,.4g}</td>' if abs(value) < 1000 else _large(value)
    return f"<td>{'–' if value is None else escape(str(value))}</td>"


def _large(value: float) -> str:
    return f'<td style="text-align: right">{value:,.0f}</td>'
