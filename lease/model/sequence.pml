/*
How SQL writers draw counters from one sequence, as a model for spin. README.md in this folder explains it, and lease.pml has
what the lease table grants them: it treats the sequence as a counter that only goes up, and this model shows that it does.

The sequence holds a tick and a number in the tick. Only numbers below IDS become ids. The other ones are guard room: whoever
draws one enters the next tick. A tick is entered by setval, under a lock, and never by nextval.

The claim that is checked: no number is issued more than once, and a call that has ended does not hold the lock. The adversary
  * runs the sessions in any order and pauses each of them anywhere;
  * cancels each call anywhere, and lets it be sent again;
  * sets the clock to any tick at any time;
  * with CRASHES, takes the sequence back to what is on disk. nextval logs LOG numbers ahead, and a log record is on disk when a
    later commit was answered, or earlier. An id counts as issued when its transaction has committed;
  * with DROPS, drops the sequence and creates it again. DROP waits for the transactions that use it. The new sequence must be raised
    above all ticks before it is used. lease.pml shows how a session knows where that is, and here it is known.

With REGISTER, it is the counter of MariaDB and MySQL. Raising it can't lower it, so no lock and no guard room are needed: the numbers of a tick
are followed by the next tick. But two sessions may raise it to the same number. So a session that has raised it draws again. A session
notices that the counter started again only by the number that it drew.
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
#define LOG 2
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

byte last;                  /* the last value of the sequence */
byte logged;                /* what the last log record has */
byte disk;                  /* what a crash leaves */
byte now;
byte lock = NOBODY;
byte watched = NOBODY;      /* the number that is watched */
byte calls, cancels, crashes;
#if DROPS > 0
byte drops;
bit fresh;                  /* the sequence has no last value yet */
byte floor;                 /* the first tick above all that became ids */
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

#define IDLE 0
#define LOOKED 1            /* and the tick was not full */
#define DREW 2
#define WAITS 3             /* for the lock */
#define LOCKED 4
#define DREW_AGAIN 5        /* under the lock */
#define DECIDED 6
#define RAISED 7
#define HAS 8               /* the transaction has not committed yet */

typedef Call {
	byte at;
	byte v;                 /* the number that it drew */
	byte target;            /* the tick that it enters */
#ifdef REGISTER
	bit restarted;          /* it drew from a counter that had started again */
#endif
}
Call call[SESSIONS];

#ifdef REGISTER
#define clear(me) call[me].restarted = 0
#else
#define clear(me) skip
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
	if
	:: last > logged -> logged = last + LOG
	:: else
	fi
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
#ifdef BROKEN_NO_LOCK
	:: d_step { call[me].at == WAITS -> call[me].at = LOCKED }
#else
	:: d_step { call[me].at == WAITS && lock == NOBODY -> lock = me; call[me].at = LOCKED }
#endif
	:: d_step { call[me].at == LOCKED ->
		if
#ifndef BROKEN_BLIND
		:: FULL(last) || UNSET -> call[me].v = last
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
#if DROPS > 0 && !defined(BROKEN_FRESH_NOW) /* a new sequence starts at the tick of the clock */
		if
		:: fresh && call[me].target < floor -> call[me].target = floor
		:: else
		fi;
#endif
		if
		:: FULL(call[me].v) && call[me].target == TICK(call[me].v) -> call[me].target++
		:: else
		fi;
		call[me].at = DECIDED }
	/* setval, or nothing if the tick goes on */
	:: d_step { call[me].at == DECIDED ->
		if
		:: call[me].target != TICK(call[me].v) || fresh -> last = call[me].target * ROOM; logged = last; call[me].v = last
		:: else
		fi;
#if DROPS > 0
		fresh = 0;
#endif
		call[me].at = RAISED }
	:: d_step { call[me].at == RAISED -> unlock(me); call[me].at = HAS }
#endif
	/* Commit. All that was logged until now is on disk. */
	:: atomic { call[me].at == HAS ->
#ifdef BROKEN_NO_FLUSH      /* not if the transaction itself has written nothing */
		if
		:: disk = logged
		:: skip
		fi;
#else
		disk = logged;
#endif
		if
		:: call[me].v == watched -> assert(false /* issued twice */)
		:: watched == NOBODY -> watched = call[me].v
		:: call[me].v != watched
		fi;
#if DROPS > 0
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
	:: d_step { drops < DROPS && UNUSED(0) && UNUSED(1) && UNUSED(SESSIONS - 1) -> drops++; last = 0; logged = 0; fresh = 1 }
#endif
#if CRASHES > 0
	:: d_step { disk < logged -> disk = logged }
	:: d_step { crashes < CRASHES -> crashes++; last = disk; logged = disk; lock = NOBODY;
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
