/*
 * Signals as bytes in a pipe, so that a poll loop handles them like any other event. System calls are
 * interrupted (no SA_RESTART): a write to a stopped terminal must not outlive SIGTERM.
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

/* Catches SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT and SIGWINCH from now on. Returns the pipe's
 * readable end (owned by this module, until the program ends), or a negative errno. */
int signals_catch(void);

/* The next signal that has come, 0 if there is none. Never blocks. */
int signals_next(void);

/* Does to this process what the signal does by default (it ends or stops), then catches it again. */
void signals_obey(int signal_number);

#endif
