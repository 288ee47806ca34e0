/*
 * GT_MUST() states what holds whatever comes in: code relies on it, and a
 * reader would have to work it out from several places.  It is checked in
 * release builds, too.  That it does not hold is gtopo's own fault, never a
 * file's, a peer's or a device's: those are errors (base/err.h).  To go on
 * might give a wrong result, so the process says where it is and aborts.
 */
#ifndef GT_BASE_MUST_H
#define GT_BASE_MUST_H

#define GT_MUST(holds)                                                         \
	((holds) ? (void)0 : gt_must_abort(#holds, __FILE__, __LINE__))

_Noreturn void gt_must_abort(const char *what, const char *file, int line);

#endif
