#include "cli/cmd.h"

int main(int argc, char **argv)
{
	return gt_cmd_main(argc, argv);
}
