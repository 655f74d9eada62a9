/*
The lease protocol of Snowkey, as a model for spin. README.md beside this file says how to read it.

One worker number, that is one row of the store, and OWNERS processes that want it, each of them again and again.
What is proved: no counter of this worker is issued twice, whoever issues it. To say so, the adversary picks one counter,
any, when somebody issues it; it is watched from then on, and the only assertion fails when it is issued again.

The adversary
  * runs the processes in any order and pauses each of them anywhere, for ever if it likes;
  * keeps every request on its way as long as it likes. The sender may give up and go on; the request is then a *ghost*,
    which is executed later, or never. Replies are lost too;
  * ends a process, or makes it drop its lease, between any two of its steps;
  * owns the clocks. A process issues any counters of its range, in ascending order. Without FAILOVERS a lease may be taken
    from its owner at any moment and renewed at any moment: safety does not rest on expiry. Without DELETES too, a bound
    may be raised to any value: it does not rest on the cap;
  * with DELETES, deletes the row while leases live and, with FINGERPRINT, the namespace's row, which counts the births, in
    any order;
  * with FAILOVERS, takes the store back to an earlier state of its own, so that acknowledged commits are lost, and the
    new primary's clock may be SKEW behind the old one's. Here expiry counts, and the model has the store's clock.

What is assumed
  * the store executes one request at a time on this row, each in one step (one SQL statement, committed);
  * tokens are never drawn twice;
  * with DELETES, the store's clock does not go back; with FAILOVERS, by no more than SKEW;
  * a failover changes the fingerprint (FINGERPRINT), or claims hold off (HOLDOFF);
  * the deletion of a row is not lost.

Steps that the model joins into one, because any pause between them is a pause that the adversary has elsewhere:
  * probe and sending the claim: the claim may be on its way for as long as one likes;
  * execution and receipt of a reply that arrives: it gives permission, of which use may be made later;
  * wanted: the new bound is anything from the old one to the cap, which is what some wanted gives.
The store itself executes what founds, fences, bears and replaces, whenever it may be executed: so it may be late as well.

Each BROKEN_ flag takes one rule away, each LIMIT_ flag one assumption. check.sh runs them all and expects an error from each.
*/

#ifndef OWNERS
#define OWNERS 2
#endif
#ifndef TOKENS
#define TOKENS 5            /* fresh tokens in a run: how many claims and renewals are sent, all together */
#endif
#ifndef COUNTERS
#define COUNTERS 3          /* counters 0 .. COUNTERS-1 exist */
#endif
#ifndef FAILOVERS
#define FAILOVERS 0
#endif
#ifndef DELETES
#define DELETES 0
#endif
#if FAILOVERS > 0 || DELETES > 0
#define TIMED
#endif

/* ---- The store's time. A tick is one counter. ---- */

#ifdef TIMED
#ifndef END
#define END 2               /* the store's clock stops here, so that the model is finite */
#endif
#ifndef WINDOW
#define WINDOW 1            /* W + MaxClockSkew, in ticks */
#endif
#ifndef TTL
#define TTL 1
#endif
#ifndef SKEW
#define SKEW 0              /* how far the clock of the next primary may be behind */
#endif
#define CAP (now + WINDOW + 1)
#undef COUNTERS
#define COUNTERS (END + WINDOW + 1)
#else
#define CAP COUNTERS        /* any bound at any time */
#define SKEW 0
#endif

#ifdef BROKEN_MARGIN        /* nothing is kept between one server's clock and the next one's */
#define MARGIN 0
#else
#define MARGIN SKEW
#endif
#ifdef BROKEN_GAP           /* a lease can be taken in the very moment in which it can no longer be renewed */
#define GAP 0
#else
#define GAP SKEW
#endif

/* ---- What is sent and what is stored ---- */

#define NOTHING 0
#define CLAIM 1
#define RENEW 2
#define RELEASE 3

typedef Request {
	byte kind;
	byte token, revision;   /* the row must carry these */
	byte fresh;             /* CLAIM, RENEW: the token to write */
	byte bound;             /* CLAIM: the bound seen. RELEASE: the first counter not issued */
#ifdef FINGERPRINT
	byte fence;             /* CLAIM: the fence seen */
#endif
}

typedef Row {
	byte token;             /* 0: free */
	byte revision;
	byte bound;             /* the first counter that has not been granted */
#if FAILOVERS > 0
	byte expires;
#endif
}

Row row;
#ifdef TIMED
byte now;
#endif
#if DELETES > 0
bit missing = 1;            /* the row is not there: so it begins */
bit born;                   /* the namespace has counted the worker as born */
bit replacing;              /* it once had: since then a Replace may be sent, or be on its way */
byte deletes;
#ifdef BROKEN_BIRTH_SPLIT
bit inserting;              /* the second half of a birth is on its way */
#endif
#endif
#if FAILOVERS > 0
Row saved;                  /* what the standby, or the backup, has */
bit standby, behind;
byte failovers;
#if DELETES > 0
bit saved_missing, saved_born;
#endif
#endif
#ifdef FINGERPRINT
byte fence, saved_fence;
byte current;               /* the fingerprint that the server shows */
byte saved_stored;
#define NO_NAMESPACE 9      /* no current fingerprint: a missing namespace is like one of another history */
#if DELETES > 0
byte stored = NO_NAMESPACE; /* the one in the namespace's row */
#else
byte stored;
#endif
#endif

/* ---- The processes ---- */

#define IDLE 0
#define CLAIMING 1          /* a claim is on its way */
#define HOLDING 2
#define RENEWING 3          /* a renewal is on its way; counters are issued meanwhile */
#define DOUBTING 4          /* a renewal came to nothing, or nothing was heard of it; counters are issued meanwhile */
#define RELEASING 5         /* sealed, and a release is on its way */
#define UNSURE 6            /* nothing was heard of a claim; nothing is issued */

typedef Owner {
	byte state;
	byte token, revision;   /* what the row carries, as far as the owner knows */
	short mine;             /* the tokens of this lease, confirmed or attempted, as a set */
	byte next, limit;       /* it may issue next .. limit-1 */
}

Owner owner[OWNERS];
Request call[OWNERS];       /* what the owner waits for */
Request ghost[OWNERS];      /* what it no longer waits for */
byte tokens;                /* drawn so far */
byte started;               /* processes that have claimed; they begin in order, since all are alike */
byte watched;               /* 1 + one counter that has been issued, picked by the adversary; 0 before that */
bit done;                   /* scratch: one row changed. Zero between steps */

inline forget(q) {
	q.kind = NOTHING; q.token = 0; q.revision = 0; q.fresh = 0; q.bound = 0;
#ifdef FINGERPRINT
	q.fence = 0;
#endif
}

inline abandon(me) {        /* the sender goes on without knowing */
	ghost[me].kind = call[me].kind; ghost[me].token = call[me].token; ghost[me].revision = call[me].revision;
	ghost[me].fresh = call[me].fresh; ghost[me].bound = call[me].bound;
#ifdef FINGERPRINT
	ghost[me].fence = call[me].fence;
#endif
	forget(call[me])
}

inline drop(me) {           /* the lease object is gone; the process may claim with a new one */
	owner[me].state = IDLE; owner[me].token = 0; owner[me].revision = 0; owner[me].mine = 0;
	owner[me].next = 0; owner[me].limit = 0
}

inline hold(me) {           /* the row carries the token of the claim */
	owner[me].state = HOLDING; owner[me].token = row.token; owner[me].revision = row.revision;
	owner[me].limit = row.bound;
#if defined(HOLDOFF) && !defined(BROKEN_HOLDOFF_GRANTS)
	owner[me].next = row.bound  /* nothing is granted before the first renewal */
#endif
}

/* ---- The store executes a request ---- */

#ifdef BROKEN_CLAIM_BLIND   /* whoever changed the row since the probe, the claim goes through */
#define UNCHANGED(q) (1)
#else
#ifdef BROKEN_CLAIM_BOUND   /* token and revision are compared, the bound is not */
#define UNCHANGED(q) (row.token == q.token && row.revision == q.revision)
#else
#ifdef ONLY_BOUND           /* not broken: see README.md */
#define UNCHANGED(q) (row.bound == q.bound)
#else
#ifdef NO_REVISION          /* not broken: see README.md */
#define UNCHANGED(q) (row.token == q.token && row.bound == q.bound)
#else
#define UNCHANGED(q) (row.token == q.token && row.revision == q.revision && row.bound == q.bound)
#endif
#endif
#endif
#endif

#if FAILOVERS > 0
#define TAKEABLE (row.token == 0 || row.expires + GAP < now)
#ifdef BROKEN_REVIVE        /* an expired lease can be renewed */
#define ALIVE (1)
#else
#define ALIVE (row.expires >= now)
#endif
#ifdef ADOPT_EXPIRED        /* not broken: see README.md */
#define ADOPTABLE (1)
#else
#define ADOPTABLE ALIVE
#endif
#define EXTEND row.expires = now + TTL
#else
#define TAKEABLE (1)
#define ALIVE (1)
#define ADOPTABLE (1)
#define EXTEND skip
#endif

#ifdef FINGERPRINT
#define FENCED (stored == current)
#else
#define FENCED (1)
#endif

#if defined(FINGERPRINT) && !defined(BROKEN_CLAIM_FINGERPRINT)
#ifdef BROKEN_CLAIM_FENCE   /* stored and current fingerprint are compared, but not the fence that the claimer saw */
#define SAME_HISTORY(q) (stored == current)
#else
#define SAME_HISTORY(q) (stored == current && fence == q.fence)
#endif
#else
#define SAME_HISTORY(q) (1)
#endif

#ifdef BROKEN_RENEW_BLIND   /* whoever holds the row, its bound is raised */
#define HELD(q) (1)
#else
#ifdef BROKEN_RENEW_PLAIN   /* one token for the whole lease, no revision */
#define HELD(q) (row.token == q.token)
#else
#ifdef NO_REVISION
#define HELD(q) (row.token == q.token)
#else
#define HELD(q) (row.token == q.token && row.revision == q.revision)
#endif
#endif
#endif

#ifdef BROKEN_RELEASE_BLIND /* whoever holds the row, it is freed */
#define RELEASABLE(q) (1)
#else
#ifdef BROKEN_RENEW_PLAIN
#define RELEASABLE(q) (row.token == q.token)
#else
#ifdef NO_REVISION
#define RELEASABLE(q) (row.token == q.token)
#else
#define RELEASABLE(q) (row.token == q.token && row.revision == q.revision)
#endif
#endif
#endif

#if DELETES > 0
#define PRESENT (!missing)
#else
#define PRESENT (1)
#endif

#if DELETES > 0 && !defined(BROKEN_CLAIM_UNCOUNTED)     /* a row that the namespace has not counted is claimed */
#define CLAIMABLE (PRESENT && born)
#else
#define CLAIMABLE PRESENT
#endif

inline raise() {            /* bound = max(bound, least(wanted, cap)) */
	do
	:: row.bound < CAP -> row.bound++
	:: break
	od
}

inline execute(q) {
	if
	:: q.kind == CLAIM && CLAIMABLE && UNCHANGED(q) && TAKEABLE && SAME_HISTORY(q) ->
#if defined(HOLDOFF) && !defined(BROKEN_HOLDOFF_GRANTS)
		if
		:: row.bound < CAP + MARGIN -> row.bound = CAP + MARGIN
		:: else
		fi;
#else
		raise();
#endif
		row.token = q.fresh; row.revision++; EXTEND;
		done = 1
	:: q.kind == RENEW && PRESENT && HELD(q) && ALIVE ->
#ifdef BROKEN_RENEW_LOWERS  /* bound = least(wanted, cap): a cap below the bound lowers it */
		row.bound = 0;
#endif
#ifdef BROKEN_RENEW_PLAIN   /* bound = wanted, which was above the limit when it was sent */
		row.bound = q.bound;
#endif
		raise();
#ifndef BROKEN_RENEW_PLAIN
		row.token = q.fresh; row.revision++;
#endif
		EXTEND;
		done = 1
	:: q.kind == RELEASE && PRESENT && RELEASABLE(q) ->
		if
		:: q.bound < row.bound -> row.bound = q.bound
		:: else
		fi;
		row.token = 0; row.revision++;
		done = 1
	:: else
	fi
}

/* ---- An owner ---- */

#define ISSUING (owner[me].state == HOLDING || owner[me].state == RENEWING || owner[me].state == DOUBTING)

#ifdef BROKEN_ISSUE_AT_BOUND
#define LIMIT (owner[me].limit + 1)
#else
#define LIMIT owner[me].limit
#endif

proctype Process(byte me) {
end:
	do
	/* Probe, and send a claim. The range will begin where all earlier ones end, or at the fence. Who finds a row that is not
	   counted bears its worker first. Who has heard nothing of a claim may send another, and keeps the token of the first. */
	:: d_step { (owner[me].state == IDLE || owner[me].state == UNSURE) && CLAIMABLE && FENCED && tokens < TOKENS && me <= started ->
		if
		:: me == started -> started++
		:: else
		fi;
		tokens++;
		call[me].kind = CLAIM; call[me].token = row.token; call[me].revision = row.revision;
		call[me].fresh = tokens; call[me].bound = row.bound;
		owner[me].state = CLAIMING;
#ifndef BROKEN_CLAIM_ZERO
		if
		:: row.bound > owner[me].next -> owner[me].next = row.bound
		:: else
		fi;
#endif
#ifdef FINGERPRINT
		call[me].fence = fence;
#ifndef BROKEN_NO_FENCE
		if
		:: fence > owner[me].next -> owner[me].next = fence
		:: else
		fi
#endif
#endif
		}

	/* The claim is executed, and answered or not. */
	:: atomic { owner[me].state == CLAIMING ->
		execute(call[me]);
		owner[me].mine = owner[me].mine | (1 << call[me].fresh);
		if
		:: done -> hold(me); owner[me].mine = 1 << row.token
		:: owner[me].state = UNSURE
		fi;
		done = 0;
		forget(call[me]) }

	/* No answer, though the claim may still be executed. */
	:: d_step { owner[me].state == CLAIMING && ghost[me].kind == NOTHING ->
		owner[me].mine = owner[me].mine | (1 << call[me].fresh);
#ifdef BROKEN_CLAIM_TIMEOUT
		owner[me].state = HOLDING; owner[me].token = call[me].fresh; owner[me].revision = call[me].revision + 1;
		owner[me].limit = CAP;
#else
		owner[me].state = UNSURE;
#endif
		abandon(me) }

	/* Read the row: if it carries the token of the claim, it is as if that had been answered. If not, it may be read again, or
	   claimed with another token. */
	:: d_step { owner[me].state == UNSURE ->
		if
#ifdef BROKEN_CLAIM_ADOPT_ANY
		:: PRESENT -> hold(me)
#else
		:: PRESENT && (owner[me].mine & (1 << row.token)) && ADOPTABLE -> hold(me); owner[me].mine = 1 << row.token
#endif
		:: else -> drop(me)
		fi }

	/* Issue a counter that shall be watched, or issue the watched one again. All others are issued without a trace. */
	:: atomic { ISSUING && watched == 0 && owner[me].next < LIMIT ->
		do
		:: owner[me].next + 1 < LIMIT -> owner[me].next++
		:: break
		od;
		owner[me].next++; watched = owner[me].next }
	:: d_step { ISSUING && watched > owner[me].next && watched <= LIMIT -> assert(false /* issued twice */) }

	/* Send a renewal. One at a time. */
	:: d_step { owner[me].state == HOLDING && tokens < TOKENS ->
		tokens++;
		call[me].kind = RENEW; call[me].token = owner[me].token; call[me].revision = owner[me].revision;
		call[me].fresh = tokens;
#ifdef BROKEN_RENEW_PLAIN
		call[me].bound = owner[me].limit + 1;
#endif
		owner[me].mine = owner[me].mine | (1 << tokens);
		owner[me].state = RENEWING }

	/* It is executed, and answered or not. Only a confirmed one raises the limit. */
	:: atomic { owner[me].state == RENEWING ->
		execute(call[me]);
		if
		:: done ->
			owner[me].state = HOLDING; owner[me].token = row.token; owner[me].revision = row.revision;
			if
			:: row.bound > owner[me].limit -> owner[me].limit = row.bound
			:: else
			fi
		:: owner[me].state = DOUBTING
		fi;
		done = 0;
		forget(call[me]) }
	:: d_step { owner[me].state == RENEWING && ghost[me].kind == NOTHING ->
#ifdef BROKEN_RENEW_TIMEOUT
		owner[me].state = HOLDING; owner[me].token = call[me].fresh; owner[me].revision++;
		if
		:: CAP > owner[me].limit -> owner[me].limit = CAP
		:: else
		fi;
#else
		owner[me].state = DOUBTING;
#endif
		abandon(me) }

	/* Read the row: adopt it if it carries one of my tokens, else the lease is lost. */
	:: d_step { owner[me].state == DOUBTING ->
		if
#ifdef BROKEN_ADOPT_ANY
		:: PRESENT ->
#else
		:: PRESENT && (owner[me].mine & (1 << row.token)) && ADOPTABLE ->
#endif
			owner[me].state = HOLDING; owner[me].token = row.token; owner[me].revision = row.revision;
			if
			:: row.bound > owner[me].limit -> owner[me].limit = row.bound
			:: else
			fi
		:: else -> drop(me)
		fi }

	/* The process ends, or drops its lease. (When a call is on its way, it gives that up first.) */
	:: d_step { owner[me].state == HOLDING || owner[me].state == DOUBTING || owner[me].state == UNSURE -> drop(me) }

	/* Seal at any point of the range, and send a release. The bound is not lowered while a renewal is unresolved. */
	:: atomic { owner[me].state == HOLDING || owner[me].state == DOUBTING ->
		do
		:: owner[me].next < owner[me].limit -> owner[me].next++
		:: break
		od;
#ifdef BROKEN_RELEASE_UNSEALED
		if
		:: ghost[me].kind == NOTHING ->
			ghost[me].kind = RELEASE; ghost[me].token = owner[me].token;
			ghost[me].revision = owner[me].revision; ghost[me].bound = owner[me].next
		:: else
		fi }
#else
		d_step {
		call[me].kind = RELEASE; call[me].token = owner[me].token; call[me].revision = owner[me].revision;
		call[me].bound = owner[me].next;
#ifdef BROKEN_RELEASE_TOO_LOW   /* to the last counter issued, not to the first one not issued */
		if
		:: call[me].bound > 0 -> call[me].bound--
		:: else
		fi;
#endif
#ifndef LOWER_IN_DOUBT          /* not broken: see README.md */
		if
		:: owner[me].state == DOUBTING -> call[me].bound = 255
		:: else
		fi;
#endif
		drop(me);
		owner[me].state = RELEASING } }
#endif
	:: d_step { owner[me].state == RELEASING ->
		execute(call[me]); done = 0; forget(call[me]); drop(me) }
	:: d_step { owner[me].state == RELEASING && ghost[me].kind == NOTHING -> abandon(me); drop(me) }

	/* A ghost of this process is executed, unheard, or vanishes. */
	:: atomic { ghost[me].kind != NOTHING -> execute(ghost[me]); done = 0; forget(ghost[me]) }
	:: d_step { ghost[me].kind != NOTHING -> forget(ghost[me]) }
	od
}

/* ---- What happens to the store ---- */

#if defined(FINGERPRINT) && DELETES > 0
#define FOUNDED (stored != NO_NAMESPACE)
#else
#define FOUNDED (1)
#endif

#if FAILOVERS > 0 && !defined(LIMIT_UNDELETE)   /* the standby, or the next backup, learns of the deletion */
#define STAYS (!standby)
#else
#define STAYS (1)
#endif

#ifdef TIMED
active proctype Store() {
end:
	do
	:: d_step { now < END -> now++ }

#if DELETES > 0
	/* The row is deleted (or the table truncated) ... */
	:: d_step { !missing && deletes < DELETES && STAYS ->
		deletes++; missing = 1; row.token = 0; row.revision = 0; row.bound = 0;
#if FAILOVERS > 0
		row.expires = 0
#endif
		}
	/* ... and added again, with the cap as its bound, by whoever knows that the worker was born. That may have been before
	   the namespace was lost. */
	:: d_step { missing && replacing ->
		missing = 0;
#ifndef BROKEN_BIRTH_ZERO
		row.bound = CAP
#endif
		}

	/* A worker is born: counted and, in the same step, given a row. Its bound is low, here the lowest there is. A row that is
	   there is left as it is. */
#ifdef BROKEN_BIRTH_SPLIT
	:: d_step { FOUNDED && !born -> born = 1; replacing = 1; inserting = 1 }
	:: d_step { missing && inserting -> missing = 0; inserting = 0 }
#else
	:: d_step { FOUNDED && !born ->
		born = 1; replacing = 1; missing = 0;
#ifdef BIRTH_OVER           /* not broken: see README.md */
		row.token = 0; row.revision = 0; row.bound = 0
#endif
		}
	/* One below the range of who bears is counted only. So is one below another whose row is counted by who founds. */
	:: d_step { FOUNDED && !born && missing -> born = 1; replacing = 1 }
#endif

#ifdef FINGERPRINT
	/* The namespace's row is deleted, and with it the fence and the count. */
	:: d_step { FOUNDED && deletes < DELETES -> deletes++; stored = NO_NAMESPACE; fence = 0; born = 0 }
#endif
#endif

#if FAILOVERS > 0
	/* What the standby has received, or the backup holds ... */
	:: d_step { !standby && failovers < FAILOVERS ->
		standby = 1;
#ifdef FINGERPRINT
		saved_stored = stored; saved_fence = fence;
#endif
#if DELETES > 0
		saved_missing = missing; saved_born = born;
#endif
		saved.token = row.token; saved.revision = row.revision; saved.bound = row.bound; saved.expires = row.expires }
	/* ... is all there is from now on. Its clock may be behind. */
	:: atomic { standby ->
		d_step {
		standby = 0; failovers++;
#ifdef FINGERPRINT
		stored = saved_stored; fence = saved_fence; saved_stored = 0; saved_fence = 0;
#ifndef LIMIT_SAME_FINGERPRINT
		current++;
#endif
#endif
#if DELETES > 0
		missing = saved_missing; born = saved_born; saved_missing = 0; saved_born = 0;
#endif
		row.token = saved.token; row.revision = saved.revision; row.bound = saved.bound; row.expires = saved.expires;
		saved.token = 0; saved.revision = 0; saved.bound = 0; saved.expires = 0
		};
		if
		:: !behind && now >= SKEW -> now = now - SKEW; behind = 1
		:: skip
		fi }
#endif

#ifdef FINGERPRINT
#ifdef BY_HAND              /* somebody may raise it at any time */
#define FENCE_DUE (stored != current || fence < CAP + MARGIN)
#else
#define FENCE_DUE (stored != current)
#endif
	/* Whoever probes and finds another fingerprint than the stored one raises the fence. Whoever finds none founds the
	   namespace, which is the same, and counts the worker as born if it has a row: one that a lost namespace has left. */
	:: d_step { FENCE_DUE ->
		if
#ifdef BROKEN_NAMESPACE_ZERO    /* a new namespace has no fence */
		:: stored == NO_NAMESPACE
#endif
#ifdef LIMIT_FOUND_COARSE       /* a new namespace has its fence at the counter of now */
		:: stored == NO_NAMESPACE -> fence = now
#endif
#ifdef BROKEN_NAMESPACE_CAP     /* a new namespace has its fence at the bare cap */
		:: stored == NO_NAMESPACE -> fence = CAP
#endif
		:: fence < CAP + MARGIN -> fence = CAP + MARGIN
		:: else
		fi;
#if DELETES > 0 && !defined(BROKEN_FOUND_UNCOUNTED)     /* a new namespace does not count the rows that are left */
		if
		:: !FOUNDED -> born = !missing
		:: else
		fi;
#endif
		stored = current }
#endif
	od
}
#endif

init {
	atomic {
		byte i = 0;
		do
		:: i < OWNERS -> run Process(i); i++
		:: else -> break
		od;
		i = 0
	}
}
