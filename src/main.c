/* The program is its table of commands, cli/cmd.c. */
#include "cli/cmd.h"

int main(int argc, char **argv)
{
	return gt_cmd_main(argc, argv);
}
