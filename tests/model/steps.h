/* SPDX-License-Identifier: MIT */
/* What the models share.
 *
 * One Promela step stands for one atomic of the C code and the arithmetic after it, as XMC_HOST_STEP stands
 * before each of them. Names are those of cl/. At any step one process may be stopped for ever: STEP is
 * blocked for it from then on. What a process does is a program of a few operations; when nobody can move any
 * more (`timeout`), a last process that nothing stops looks at what is left.
 *
 * Lock freedom is a second run of the verifier (`pan -l`): a progress label stands where an operation ends, and
 * a cycle that meets none of them, under any schedule whatever, would be an operation that repeats although
 * nobody else got anything done.
 */
#define NOBODY 255
byte stopped = NOBODY;
#define STEP(what) \
  atomic { stopped != _pid->what }

/* Stops process `who` at any time, or never. */
#define STOP(who) \
  if \
  ::stopped = who ::skip fi
