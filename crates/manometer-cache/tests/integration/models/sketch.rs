//! A count-min sketch as a table of counts: a key counts what the least of its four cells does, up to 15; all are
//! halved when ten requests for each object have come.

pub struct Sketch {
    cells: Vec<Vec<u32>>,
    period: u64,
    added: u64,
}

/// The odd numbers that place keys, row by row.
const SPREADS: [u64; 4] = [0x9e37_79b9_7f4a_7c15, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0xff51_afd7_ed55_8ccd];

impl Sketch {
    pub fn new(objects: u64) -> Self {
        let mut width = 16;
        while width < objects {
            width *= 2;
        }
        Self { cells: vec![vec![0; width as usize]; 4], period: 10 * objects, added: 0 }
    }

    fn column(&self, row: usize, id: u32) -> usize {
        let spread = (u128::from(id) + 1) * u128::from(SPREADS[row]) % (1 << 64);
        ((spread * self.cells[row].len() as u128) >> 64) as usize
    }

    pub fn add(&mut self, id: u32) {
        for row in 0..4 {
            let column = self.column(row, id);
            let cell = &mut self.cells[row][column];
            *cell = (*cell + 1).min(15);
        }
        self.added += 1;
        if self.added == self.period {
            self.cells.iter_mut().flatten().for_each(|cell| *cell /= 2);
            self.added /= 2;
        }
    }

    pub fn count(&self, id: u32) -> u32 {
        (0..4).map(|row| self.cells[row][self.column(row, id)]).min().unwrap()
    }
}
