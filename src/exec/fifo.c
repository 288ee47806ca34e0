#include "exec/fifo.h"

void gt_fifo_init(struct gt_fifo *fifo, char *slots, uint32_t nslots,
		  size_t slot_bytes)
{
	atomic_init(&fifo->data, 0);
	atomic_init(&fifo->credit, 0);
	fifo->slots = slots;
	fifo->slot_bytes = slot_bytes;
	fifo->nslots = nslots;
}
