/*
 * worker.h - the files of the live tests' worker. Each do_ function answers one command with reply().
 */
#ifndef PETRI_TESTS_WORKER_H
#define PETRI_TESTS_WORKER_H

enum { WORKER_FD = 3, WORKER_LINE_BYTES = 16384 };

/* Sets the answer to the command that runs. */
void reply(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Sends it at once: for commands that don't come to their end. */
void send_reply(void);

/* A segmentation fault. */
void touch_nothing(void);

/* worker_threads.c */
void do_thread(char **words);
void do_poke(char **words);
void do_join(char **words);
void do_count(char **words);
void do_name(char **words);
void do_lock(char **words);
void do_signals(char **words);
void do_fault(char **words);

/* worker_harm.c */
void do_child(char **words);
void do_bomb(char **words);
void do_shared(char **words);
void do_end(char **words);
void do_spoil(char **words);

/* worker_strange.c */
void do_strange(char **words);

/* worker_descriptors.c */
void do_make(char **words);
void do_take(char **words);
void do_tick(char **words);
void do_say(char **words);
void do_raise(char **words);
void do_watch(char **words);
void do_ready(char **words);
void do_pass(char **words);
void do_map(char **words);
void do_store(char **words);
void do_load(char **words);
void do_serve(char **words);
void do_ask(char **words);
/* worker_hoard.c */
void do_hoard(char **words);
void do_race(char **words);

#endif
