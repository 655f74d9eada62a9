/*
How SQL writers draw counters from one sequence, as a model for spin. README.md in this folder explains it, and lease.pml has
what the lease table grants them: it treats the sequence as a counter that only goes up, and this model shows that it does.

The sequence holds a tick and a number in the tick. Only numbers below IDS become ids. The other ones are guard room: a session
that draws one enters the next tick. A tick is entered by setval, under a lock, and never by nextval.

Sessions draw from an unlogged sequence, current. A crash resets it. A logged sequence, counter, has the last tick that was entered,
and is set first. If current was reset, a session raises both to a full tick. That tick has no numbers left that become ids,
so ids start when a session enters the next tick.

The claim that is checked: no number is issued more than once, and a call that has ended does not hold the lock. The adversary
  * runs the sessions in any order and pauses each of them anywhere;
  * cancels each call anywhere, and lets it be sent again;
  * sets the clock to any tick at any time;
  * with CRASHES, restarts the server, which ends all calls. current is reset, and counter goes back to what is on disk. An id counts as
    issued when it was drawn, also if its transaction has not committed. current must be raised above all ids before it is used.
    lease.pml shows how a session knows by the clock where that is, and here it is known;
  * with WRONG_CLOCK, sets the clock to any time after the crash, so that only counter shows where ids can start. An id counts as
    issued when its transaction has committed, which brings everything to disk that was logged before;
  * with DROPS, drops the sequences and creates them again, or only the history, so that sessions raise current again. DROP waits for
    the transactions that use a sequence. Here too it is known above which tick the ids start.

With REGISTER, it is the counter of MariaDB and MySQL. Raising it can't lower it, so no lock and no guard room are needed: the numbers of a tick
are followed by the next tick. But two sessions may raise it to the same number. So a session that has raised it draws again. A session
notices that the counter started again only by the number that it drew. There is one counter, and it is logged. A crash takes it back to
what is on disk. An id counts as issued when its transaction has committed, and COMMIT waits for the disk.
*/

#ifndef SESSIONS
#define SESSIONS 3
#endif
#ifndef CANCELS
#define CANCELS 2           /* calls that are cancelled, all together */
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef DROPS
#define DROPS 0
#endif
#ifndef CALLS
#define CALLS 4             /* all together */
#endif
#ifndef TICKS
#define TICKS 3
#endif
#define IDS 2               /* numbers of a tick that become ids */
#ifdef REGISTER
#define LOG 0
#else
#define LOG 2               /* BROKEN_LOGGED: nextval logs so many numbers ahead */
#endif
#ifdef REGISTER
#define ROOM IDS
#else
#ifdef BROKEN_NO_ROOM       /* the numbers of a tick are followed by the next tick */
#define ROOM IDS
#else
#ifdef BROKEN_SMALL_ROOM    /* more sessions than room */
#define ROOM (IDS + 1)
#else
#define ROOM (IDS + SESSIONS)
#endif
#endif
#endif
#define TICK(v) ((v) / ROOM)
#define FULL(v) ((v) % ROOM >= IDS)
#define NOBODY 255

byte last;                  /* the last value of current; with REGISTER, of the counter */
byte logged;                /* what the last log record has: the tick of counter; with REGISTER, the number */
byte disk;                  /* what a crash leaves of that */
byte now;
byte lock = NOBODY;
byte watched = NOBODY;      /* the number that is watched */
byte calls, cancels, crashes;
#if CRASHES > 0 && !defined(REGISTER) && !defined(BROKEN_LOGGED)
#define COUNTER
#endif
#if DROPS > 0 || defined(COUNTER)
#define RESETS
byte drops;
bit fresh;                  /* the sequence has no last value yet */
byte floor;                 /* the first tick above all that became ids; with WRONG_CLOCK, nobody knows it */
#ifdef BROKEN_FRESH_LOOK    /* a call draws from a new sequence as from any other */
#define UNSET (0)
#else
#define UNSET (fresh)
#endif
#ifdef BROKEN_DROP_EARLY    /* DROP does not wait */
#define UNUSED(i) (1)
#else
#define UNUSED(i) (call[i].at == IDLE)
#endif
#else
#define UNSET (0)
#define fresh 0
#endif
#if defined(RESETS) && !defined(REGISTER)
bit lost;                   /* the history shows that ids may have been lost */
#define RAISES(me) (call[me].raises)
#else
#define RAISES(me) (0)
#endif

#define IDLE 0
#define LOOKED 1            /* and the tick was not full */
#define DREW 2
#define WAITS 3             /* for the lock */
#define LOCKED 4
#define DREW_AGAIN 5        /* under the lock */
#define DECIDED 6
#define RAISED 7
#define HAS 8               /* the transaction has not committed yet */
#define COUNTED 9           /* counter is set, and current is not */

typedef Call {
	byte at;
	byte v;                 /* the number that it drew */
	byte target;            /* the tick that it enters */
#ifdef REGISTER
	bit restarted;          /* it drew from a counter that had started again */
#else
#ifdef RESETS
	bit raises;             /* it has seen that ids may have been lost */
#endif
#endif
}
Call call[SESSIONS];

#ifdef REGISTER
#define clear(me) call[me].restarted = 0
#else
#ifdef RESETS
#define clear(me) call[me].raises = 0
#else
#define clear(me) skip
#endif
#endif
inline end(me) { call[me].at = IDLE; call[me].v = 0; call[me].target = 0; clear(me) }

inline unlock(me) {
	if
	:: lock == me -> lock = NOBODY
	:: else
	fi
}

inline draw(me) {           /* nextval */
	last++; call[me].v = last;
#if defined(REGISTER) || defined(BROKEN_LOGGED)
	if
	:: last > logged -> logged = last + LOG
	:: else
	fi
#endif
}

inline set_counter(me) {    /* setval; nothing if the tick goes on */
#ifdef COUNTER
	if
	:: RAISES(me) || call[me].target != TICK(call[me].v) -> logged = call[me].target
	:: else
	fi
#else
	skip
#endif
}

inline set_current(me) {    /* a raised tick is full */
	if
#ifdef BROKEN_RAISED_ROOM   /* to the last number of the guard room instead of the first */
	:: RAISES(me) -> last = call[me].target * ROOM + ROOM - 1
#else
	:: RAISES(me) -> last = call[me].target * ROOM + IDS
#endif
	:: !RAISES(me) && call[me].target != TICK(call[me].v) -> last = call[me].target * ROOM
	:: else
	fi;
#ifdef BROKEN_LOGGED
	logged = last;
#endif
#ifdef RESETS
	fresh = 0
#endif
}

proctype Session(byte me) {
	do
#ifdef REGISTER
	:: d_step { call[me].at == IDLE && calls < CALLS -> calls++; draw(me); call[me].restarted = fresh; call[me].at = DREW }
	:: d_step { call[me].at == DREW ->
		call[me].target = now;
#if DROPS > 0 && !defined(BROKEN_FRESH_NOW)
		if
		:: call[me].restarted && call[me].target < floor -> call[me].target = floor
		:: else
		fi;
#endif
		if
		:: TICK(call[me].v) < call[me].target || call[me].restarted -> call[me].at = DECIDED
		:: else -> call[me].at = HAS
		fi }
	:: d_step { call[me].at == DECIDED -> /* the next number is the first of the tick */
		if
#ifdef BROKEN_SET           /* raising it can lower it */
		:: true -> last = call[me].target * ROOM - (call[me].target > 0)
#else
		:: last < call[me].target * ROOM - (call[me].target > 0) -> last = call[me].target * ROOM - 1
		:: else
#endif
		fi;
#if DROPS > 0
		fresh = 0;
#endif
		logged = last; call[me].at = RAISED }
#ifdef BROKEN_KEEP          /* a session uses the number to which it has raised the counter */
	:: d_step { call[me].at == RAISED -> call[me].v = call[me].target * ROOM; call[me].at = HAS }
#else
	:: d_step { call[me].at == RAISED -> draw(me); call[me].restarted = fresh; call[me].at = DREW }
#endif
#else
	/* Look, and draw if the tick is not full. */
	:: d_step { call[me].at == IDLE && calls < CALLS -> calls++;
		if
#ifndef BROKEN_BLIND        /* draw without looking first */
		:: FULL(last) || UNSET -> call[me].at = WAITS
#endif
		:: else -> call[me].at = LOOKED
		fi }
	:: d_step { call[me].at == LOOKED -> draw(me); call[me].at = DREW }
	/* If the tick is over, and another session is entering the next one, the number is good enough. */
	:: atomic { call[me].at == DREW ->
		if
		:: FULL(call[me].v) -> call[me].at = WAITS
		:: !FULL(call[me].v) && TICK(call[me].v) < now -> call[me].at = WAITS
		:: !FULL(call[me].v) && (TICK(call[me].v) >= now || lock != NOBODY) -> call[me].at = HAS
		fi }
#if defined(RESETS) && !defined(REGISTER)
	/* It checks the row. It may see that ids were lost, and another session may raise the sequences before this one does. */
	:: d_step { call[me].at == WAITS && lost && !call[me].raises -> call[me].raises = 1 }
#endif
#ifdef BROKEN_NO_LOCK
	:: d_step { call[me].at == WAITS -> call[me].at = LOCKED }
#else
	:: d_step { call[me].at == WAITS && lock == NOBODY && (!fresh || RAISES(me)) -> lock = me; call[me].at = LOCKED }
#endif
	:: d_step { call[me].at == LOCKED ->
		if
#ifndef BROKEN_BLIND
		:: FULL(last) || RAISES(me) -> call[me].v = last
#endif
		:: else -> draw(me)
		fi;
		call[me].at = DREW_AGAIN
#ifdef BROKEN_EARLY_UNLOCK
		; unlock(me)
#endif
		}
	:: d_step { call[me].at == DREW_AGAIN ->
		call[me].target = now;
#ifndef BROKEN_CLOCK        /* the counter follows the clock back */
		if
		:: now < TICK(call[me].v) -> call[me].target = TICK(call[me].v)
		:: else
		fi;
#endif
		if
		:: FULL(call[me].v) && call[me].target == TICK(call[me].v) -> call[me].target++
		:: else
		fi;
#ifdef RESETS
		/* It raises the sequences to the tick before the one where ids can start. */
		if
		:: RAISES(me) ->
			if
			:: !fresh && call[me].target == TICK(call[me].v) -> call[me].target++
			:: else
			fi;
#ifndef BROKEN_FRESH_NOW    /* ids start at the tick of the clock */
			if
			:: call[me].target < floor -> call[me].target = floor
			:: else
			fi;
#endif
#if defined(COUNTER) && !defined(BROKEN_NO_COUNTER)
			if
			:: call[me].target <= logged -> call[me].target = logged + 1
			:: else
			fi;
#endif
			if
			:: call[me].target > 0 -> call[me].target--
			:: else
			fi
		:: else
		fi;
#endif
		call[me].at = DECIDED }
#ifdef COUNTER
#ifdef BROKEN_ORDER         /* current is set before counter */
	:: d_step { call[me].at == DECIDED -> set_current(me); call[me].at = COUNTED }
	:: d_step { call[me].at == COUNTED -> set_counter(me); call[me].at = RAISED }
#else
	:: d_step { call[me].at == DECIDED -> set_counter(me); call[me].at = COUNTED }
	:: d_step { call[me].at == COUNTED -> set_current(me); call[me].at = RAISED }
#endif
#else
	:: d_step { call[me].at == DECIDED -> set_current(me); call[me].at = RAISED }
#endif
	:: d_step { call[me].at == RAISED ->
		if
		:: RAISES(me) ->
#ifdef RESETS
			lost = 0; call[me].raises = 0;
#endif
			call[me].v = 0; call[me].target = 0; call[me].at = WAITS
		:: !RAISES(me) && call[me].target != TICK(call[me].v) -> call[me].v = call[me].target * ROOM; call[me].at = HAS
		:: else -> call[me].at = HAS
		fi;
		unlock(me) }
#endif
	/* The id counts as issued. Where that takes a commit, all that was logged until now is on disk. */
	:: atomic { call[me].at == HAS ->
#if defined(BROKEN_NO_FLUSH) || defined(LIMIT_NO_FLUSH) /* not if the transaction itself has written nothing */
		if
		:: disk = logged
		:: skip
		fi;
#else
#if defined(REGISTER) || defined(WRONG_CLOCK)
		disk = logged;
#endif
#endif
		if
		:: call[me].v == watched -> assert(false /* issued twice */)
		:: watched == NOBODY -> watched = call[me].v
		:: call[me].v != watched
		fi;
#if defined(RESETS) && !defined(WRONG_CLOCK)
		if
		:: TICK(call[me].v) >= floor -> floor = TICK(call[me].v) + 1
		:: else
		fi;
#endif
		end(me) }
#ifdef LIMIT_UNCOMMITTED    /* an id is used before its transaction has committed */
	:: d_step { call[me].at == HAS && watched == NOBODY -> watched = call[me].v }
#endif
	/* The call is cancelled. */
	:: d_step { call[me].at != IDLE && cancels < CANCELS -> cancels++;
#ifndef BROKEN_KEPT_LOCK    /* the lock is the session's */
		unlock(me);
#endif
		end(me); assert(lock != me /* a call that has ended holds the lock */) }
	od
}

proctype World() {
	byte i;
	do
	:: d_step { now > 0 -> now = 0 }
	:: d_step { now < TICKS - 1 -> now++ }
#if DROPS > 0
	:: d_step { drops < DROPS && UNUSED(0) && UNUSED(1) && UNUSED(SESSIONS - 1) -> drops++; last = 0; logged = 0; fresh = 1;
#ifndef REGISTER
		lost = 1
#endif
		}
#ifndef REGISTER
	:: d_step { drops < DROPS && UNUSED(0) && UNUSED(1) && UNUSED(SESSIONS - 1) -> drops++; lost = 1 }
#endif
#endif
#if CRASHES > 0
	:: d_step { disk != logged -> disk = logged }
	:: d_step { crashes < CRASHES -> crashes++; logged = disk; lock = NOBODY;
#ifdef COUNTER
		last = 0; fresh = 1; lost = 1;
#else
		last = disk;
#endif
		i = 0;
		do
		:: i < SESSIONS -> end(i); i++
		:: else -> break
		od;
		i = 0 }
#endif
	od
}

init {
	atomic {
		byte i = 0;
		do
		:: i < SESSIONS -> run Session(i); i++
		:: else -> break
		od;
		run World()
	}
}
