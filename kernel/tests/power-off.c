// SPDX-License-Identifier: GPL-2.0
/* Powers a guest off. */
#include <sys/reboot.h>

int main(void)
{
	return reboot(RB_POWER_OFF);
}
