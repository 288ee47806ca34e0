/* A FIFO that nothing has been sent through (exec/link/fifo.h). */
#include "exec/link/fifo.h"

void gt_fifo_init(struct gt_fifo *fifo)
{
	atomic_init(&fifo->data, 0);
	atomic_init(&fifo->credit, 0);
}
