/*
The lease protocol of Snowkey, as a model for spin. README.md in this folder explains how to read it.

There is one worker number, that is one row of the store, and OWNERS processes that claim it, each of them repeatedly.
The claim that is checked: no counter of this worker is issued more than once, by any process. The adversary picks any one
counter when it is issued. That counter is watched from then on, and the only assertion fails when it is issued again.

The adversary
  * runs the processes in any order and pauses each of them anywhere, for any time;
  * delays each request for any time. The sender may give up and go on; the request is then a *ghost*, which is executed
    later, or never. Replies are lost too;
  * ends a process, or makes it drop its lease, between any two of its steps;
  * controls the hosts' clocks. A process issues any counters of its range, in ascending order. Without FAILOVERS and VOLATILE,
    a lease may be claimed and renewed at any moment: safety does not depend on expiry. Without DELETES too, a bound may be
    raised to any value: safety does not depend on the cap;
  * with CRASHES, restarts the server. Every reader sees a write at once, but only an answered write is known to be on disk. A
    crash takes the store back to what is on disk. The fingerprint does not change;
  * with VOLATILE, changes a setting of the server, so that writes are answered before they are on disk;
  * with DELETES, deletes the row while leases are held. With FINGERPRINT it deletes the namespace's row too, in any order.
    A missing row may be added, and a missing namespace created, at any time;
  * with FAILOVERS, takes the store back to an earlier state, so that answered commits are lost. The clock of the new primary
    may be SKEW behind the old one's. With VIEWS, the fingerprint is the view of a cluster: it also changes while no commit
    is lost, and after commits were lost it may be one that the lost state had;
  * with STEPS, sets the store's clock back by SKEW, once;
  * with FILE, deletes the row and its namespace together, as the file of package filestore has both;
  * with READ_TIME, a store compares and sets, as those of package kvlease do. A process reads the row, the namespace and the store's
    time, and computes the change. The change is executed later, at any time, if what was read is still there. Rows are added, and
    fences raised, in the same way;
  * with HOST_CLOCKS, the store has no clock, as etcd. Each request has the time of its sender, whose clock may be SKEW
    behind that of another host. The request may be executed when that time has long passed;
  * with REPLY_FINGERPRINT, the store can't compare its fingerprint with the stored one, as etcd. The sender compares them when
    it reads, and again in the reply;
  * with ZNODES, the store is ZooKeeper. A transaction has no clock and reads nothing. A write is conditional on the version of
    the row's node, and on a node of the era, which is the time of one leader. It contains the row as its sender read it, and
    the row as it is to be. Whoever reads the node finds out by the epoch in which the write was executed which of them counts. ZNODES
    includes READ_TIME.
  * with SQL, a migration reserves the row for SQL, and SESSIONS of the database issue counters from a sequence. The sequence only
    goes up, which sequence.pml shows, but a failover or a crash takes it back with the rest. A session checks the row, and
    then issues counters below the cap of that moment;
  * with UNLOGGED, the sequence of SQL writers is that of PostgreSQL, and unlogged. Issuing a counter does not wait for the disk. A crash, and
    the promotion of a standby, reset the history. Only a session whose own check of the row allows it opens counters of the
    sequence. Then each session issues them that has checked the row since the sequence was created;
  * with DROPS, drops the sequence of SQL writers, or what it was raised for, or both, and creates them again, while sessions go on
    that had checked the row before. With LIVE, a failover is an older dump that is restored in place: it drops and creates
    both as well, with the values of the dump, and the sessions go on;
  * with PAST, a backfill reserves the row, and issues counters from 0 up. With FREES, somebody frees the row again by hand.

What is assumed
  * the store executes one request at a time on this row, each in one step (one SQL statement, committed);
  * commits reach the disk in the order in which they were made visible: if one is on disk, all earlier ones are;
  * a token is not drawn more than once. Only a renewal that is sent again has the token that it had before;
  * with DELETES or FAILOVERS, the store's clock goes back by no more than SKEW;
  * a failover changes the fingerprint (FINGERPRINT), or claims hold off (HOLDOFF);
  * the deletion of a row is not lost in a failover;
  * a sequence is not dropped while a transaction uses it, since the server makes DROP wait;
  * with UNLOGGED, the reservation of the row is on disk before a session reads it;
  * what a standby or a backup has is on the disk of the primary, so that a crash does not lose it.

Steps that the model joins into one, because any pause between them is a pause that the adversary has elsewhere:
  * probing and sending the claim: the claim may be delayed for any time;
  * executing a request, bringing it to disk, and receiving its reply: the reply gives permission, which may be used later. If
    the server crashes before the request is on disk, there is no reply;
  * wanted: the new bound is anything from the old one to the cap, which is what some value of wanted gives.
The store itself adds rows, creates the namespace and raises fences, at any moment at which the statement would have an
effect. So these statements may be late too.

Each BROKEN_ flag removes one rule, each LIMIT_ flag one assumption. check.sh runs them all and expects an error from each.
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
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef DROPS
#define DROPS 0
#endif
#ifdef ZNODES
#define READ_TIME
#endif
#if defined(READ_TIME) || defined(HOST_CLOCKS)
#define LATE                /* a change has the time of the read, and may be executed much later */
#if DELETES > 0 || defined(FINGERPRINT)
#define MARKS               /* the namespace has a random mark, which each change of it and each new row replaces */
#endif
#endif
#if defined(REPLY_FINGERPRINT) || defined(READ_TIME) && defined(FINGERPRINT) && !defined(ZNODES)
#define READS_FINGERPRINT
#endif
#if DROPS > 0 || defined(LIVE)
#define BIRTHS              /* a sequence can be created again */
#endif
#if FAILOVERS > 0 || defined(VOLATILE)
#define EXPIRY              /* the model looks at expires */
#endif
#if defined(EXPIRY) || DELETES > 0 || DROPS > 0 || defined(UNLOGGED)
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
#ifdef READ_TIME
#define AT(q) q.at          /* the store's time when the sender read the row */
#ifdef BROKEN_HOST_TIME     /* a time that the sender's host tells */
#define SENT(q) if :: q.at = now :: q.at = 0 fi
#define SEND atomic
#else
#define SENT(q) q.at = now
#define SEND d_step
#endif
#define HERE now
#else
#ifdef HOST_CLOCKS
#ifndef HOST_SKEW
#define HOST_SKEW SKEW      /* how far the clock of a host may be behind that of another one */
#endif
#define AT(q) q.at          /* the time of the sender when it sent the request */
#define SENT(q) if :: q.at = now :: now >= HOST_SKEW -> q.at = now - HOST_SKEW fi
#define SEND atomic
#define HERE (now < HOST_SKEW -> 0 : now - HOST_SKEW)   /* the earliest time of a host */
#else
#define AT(q) now
#endif
#endif
#undef COUNTERS
#define COUNTERS (END + WINDOW + 1)
#else
#define CAP COUNTERS        /* any bound at any time */
#define SKEW 0
#endif
#ifndef LATE
#define SENT(q) skip
#define SEND d_step
#endif
#ifdef LATE
#define CAP_AT(q) (q.at + WINDOW + 1)
#else
#define CAP_AT(q) CAP
#endif

#ifdef BROKEN_MARGIN        /* no allowance for the next server's clock */
#define MARGIN 0
#else
#define MARGIN SKEW
#endif
#ifdef BROKEN_GAP           /* a lease can be taken as soon as it can no longer be renewed */
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
#ifdef VOLATILE
	bit holdoff;            /* the store was volatile when the lease was claimed */
#endif
#ifdef ZNODES
	byte version, node;     /* of the row's node, when it was read */
	byte was, expires;      /* the row's bound and expiry then; token and revision are above */
	byte era, epoch;        /* of the era that was current then */
	byte layout;            /* CLAIM: the version of the namespace's node */
#endif
#ifdef LATE
	byte at;
#endif
#ifdef READS_FINGERPRINT
	byte cluster;           /* the fingerprint of the store when the sender read the row */
#endif
}

typedef Tables {
	byte token;             /* 0: the row is free */
	byte revision;
	byte bound;             /* the first counter that has not been granted */
#ifdef EXPIRY
	byte expires;
#endif
#if DELETES > 0
	bit missing;            /* the row does not exist */
#endif
#ifdef FINGERPRINT
	byte fence;
	byte stored;            /* the fingerprint in the namespace's row */
#endif
#ifdef ZNODES
	byte version, node;     /* of the row's node: how often it was written, and which transaction created it */
	byte nodes;             /* created so far */
	byte layout;            /* the version of the namespace's node */
	byte era, epoch;        /* the current era, and the epoch of the leader under which it began */
#endif
#ifdef HOST_CLOCKS
	byte time;              /* the latest time of a grant */
#endif
#ifdef REPLY_FINGERPRINT
	byte claimed;           /* the fingerprint of the store when the row was claimed */
#endif
#ifdef MARKS
	byte mark;              /* of the namespace */
#endif
#ifdef SQL
	byte sequence;          /* the next counter of SQL writers */
	byte history;           /* the fingerprint up to which it was raised */
#ifdef BIRTHS
	bit called;             /* the sequence has been set since it was created */
#endif
#ifdef UNLOGGED
	byte open;              /* any session that has checked the row may issue counters below */
#endif
#endif
}

Tables db;                  /* what every reader sees */
#ifdef TIMED
byte now;
bit behind;                 /* the clock has gone back */
#endif
#if DELETES > 0
byte deletes;
#endif
#if FAILOVERS > 0
Tables saved;               /* what the standby has, or the backup */
bit standby;
byte failovers;
#endif
#if CRASHES > 0
Tables disk;                /* what a crash leaves */
byte crashes;
#endif
#ifdef VOLATILE
bit early;               /* a write is answered before it is on disk */
#endif
#ifdef FINGERPRINT
#ifdef VIEWS
byte views;
#endif
#ifdef ZNODES
#define current db.era      /* an era's name is random, so each has its own number */
#else
byte current;               /* the fingerprint that the server shows */
#endif
#define NO_NAMESPACE 9      /* the namespace's row does not exist; no server shows this fingerprint */
#endif
#ifdef ZNODES
byte epoch;                 /* of the leader */
byte eras;                  /* begun so far */
#if FAILOVERS > 0
byte older;                 /* the epoch of what was saved */
#endif
#endif

inline copy(to, from) {
	to.token = from.token; to.revision = from.revision; to.bound = from.bound;
#ifdef EXPIRY
	to.expires = from.expires;
#endif
#if DELETES > 0
	to.missing = from.missing;
#endif
#ifdef FINGERPRINT
	to.fence = from.fence; to.stored = from.stored;
#endif
#ifdef ZNODES
	to.version = from.version; to.node = from.node; to.nodes = from.nodes; to.layout = from.layout;
	to.era = from.era; to.epoch = from.epoch;
#endif
#ifdef HOST_CLOCKS
	to.time = from.time;
#endif
#ifdef REPLY_FINGERPRINT
	to.claimed = from.claimed;
#endif
#ifdef MARKS
	to.mark = from.mark;
#endif
#ifdef SQL
	to.sequence = from.sequence; to.history = from.history;
#ifdef BIRTHS
	to.called = from.called;
#endif
#ifdef UNLOGGED
	to.open = from.open;
#endif
#endif
}

inline clear(t) {           /* keeps states equal that differ only in what is no longer used */
	t.token = 0; t.revision = 0; t.bound = 0;
#ifdef EXPIRY
	t.expires = 0;
#endif
#if DELETES > 0
	t.missing = 0;
#endif
#ifdef FINGERPRINT
	t.fence = 0; t.stored = 0;
#endif
#ifdef ZNODES
	t.version = 0; t.node = 0; t.nodes = 0; t.layout = 0; t.era = 0; t.epoch = 0;
#endif
#ifdef HOST_CLOCKS
	t.time = 0;
#endif
#ifdef REPLY_FINGERPRINT
	t.claimed = 0;
#endif
#ifdef MARKS
	t.mark = 0;
#endif
#ifdef SQL
	t.sequence = 0; t.history = 0;
#ifdef BIRTHS
	t.called = 0;
#endif
#ifdef UNLOGGED
	t.open = 0;
#endif
#endif
}

#define NO_HISTORY 99       /* no server shows this fingerprint */

/* What the disk has, and what a standby has, is without the unlogged sequences. */
#ifdef UNLOGGED
inline reset(t) {
#ifndef BROKEN_SQL_LOGGED   /* the history is logged */
	t.history = NO_HISTORY;
#ifdef BIRTHS
	t.called = 0;
#endif
#endif
	t.open = 0
}
inline to_disk(from) { copy(disk, from); reset(disk) }
#else
#define to_disk(from) copy(disk, from)
#endif
#if defined(UNLOGGED) && !defined(LIVE)
inline to_standby() { copy(saved, db); reset(saved) }
#else
#define to_standby() copy(saved, db)
#endif

/* ---- The processes ---- */

#define IDLE 0
#define CLAIMING 1          /* a claim is under way */
#define UNSURE 2            /* a claim had no reply, or changed no row; nothing is issued */
#define HOLDING 3
#define RENEWING 4          /* a renewal is under way; counters are issued meanwhile */
#define RELEASING 5         /* sealed, and a release is under way */

typedef Owner {
	byte state;
	byte token, revision;   /* what the row carries, as far as the owner knows */
	byte fresh;             /* the token of a renewal that was sent and not answered; 0: there is none */
	short mine;             /* the tokens of claims that were sent and not answered, as a set */
	byte next, limit;       /* it may issue next .. limit-1 */
#ifdef VOLATILE
	bit holdoff;            /* the store was volatile when the lease was claimed */
#endif
}

Owner owner[OWNERS];
Request call[OWNERS];       /* what the owner waits for */
Request ghost[OWNERS];      /* what it no longer waits for */
byte tokens;                /* drawn so far */
byte started;               /* processes that have claimed; they begin in order, since all are alike */
byte watched;               /* 1 + the counter that is watched; 0 before there is one */
bit done;                   /* scratch: one row changed. Zero between steps */

inline forget(q) {
	q.kind = NOTHING; q.token = 0; q.revision = 0; q.fresh = 0; q.bound = 0;
#ifdef FINGERPRINT
	q.fence = 0;
#endif
#ifdef VOLATILE
	q.holdoff = 0;
#endif
#ifdef ZNODES
	q.version = 0; q.node = 0; q.was = 0; q.expires = 0; q.era = 0; q.epoch = 0; q.layout = 0;
#endif
#ifdef LATE
	q.at = 0;
#endif
#ifdef READS_FINGERPRINT
	q.cluster = 0;
#endif
}

/* Read the row's node before a request is sent. */
#ifdef ZNODES
#ifdef EXPIRY
#define EXPIRES db.expires
#else
#define EXPIRES 0
#endif
inline read(q) {
	q.version = db.version; q.node = db.node; q.was = db.bound; q.expires = EXPIRES;
	q.era = db.era; q.epoch = db.epoch;
	if
	:: q.kind == CLAIM -> q.layout = db.layout
	:: else
	fi
}
#ifndef WRITES
#define WRITES (TOKENS + 1) /* to one node; writes that change nothing could go on forever */
#endif
#define MINE (PRESENT && db.token == owner[me].token && db.revision == owner[me].revision && db.version < WRITES)
#else
#define read(q) skip
#define MINE (1)
#endif

inline abandon(me) {        /* the sender goes on without knowing */
	ghost[me].kind = call[me].kind; ghost[me].token = call[me].token; ghost[me].revision = call[me].revision;
	ghost[me].fresh = call[me].fresh; ghost[me].bound = call[me].bound;
#ifdef FINGERPRINT
	ghost[me].fence = call[me].fence;
#endif
#ifdef VOLATILE
	ghost[me].holdoff = call[me].holdoff;
#endif
#ifdef ZNODES
	ghost[me].version = call[me].version; ghost[me].node = call[me].node; ghost[me].was = call[me].was;
	ghost[me].expires = call[me].expires; ghost[me].era = call[me].era; ghost[me].epoch = call[me].epoch;
	ghost[me].layout = call[me].layout;
#endif
#ifdef LATE
	ghost[me].at = call[me].at;
#endif
#ifdef READS_FINGERPRINT
	ghost[me].cluster = call[me].cluster;
#endif
	forget(call[me])
}

inline drop(me) {           /* the lease object is gone; the process may claim with a new one */
	owner[me].state = IDLE; owner[me].token = 0; owner[me].revision = 0; owner[me].fresh = 0; owner[me].mine = 0;
#ifdef VOLATILE
	owner[me].holdoff = 0;
#endif
	owner[me].next = 0; owner[me].limit = 0
}

inline adopt(me) {          /* the row carries a token of mine: the next request names what it carries */
	owner[me].state = HOLDING; owner[me].token = db.token; owner[me].revision = db.revision;
	owner[me].fresh = 0; owner[me].mine = 0
}

inline extend(me) {         /* a reply said how far the row is granted */
	if
	:: db.bound > owner[me].limit -> owner[me].limit = db.bound
	:: else
	fi
}

/* Whether a claim only raises the bound, and renewals grant. */
#ifdef HOLDOFF
#define HOLDS_OFF(x) (1)
#else
#ifdef VOLATILE
#define HOLDS_OFF(x) (x.holdoff)
#else
#define HOLDS_OFF(x) (0)
#endif
#endif

inline hold(me) {           /* the row carries the token of the claim */
	adopt(me);
#ifndef BROKEN_HOLDOFF_GRANTS
	if
	:: HOLDS_OFF(owner[me]) && db.bound > owner[me].next -> owner[me].next = db.bound
	:: else
	fi
#if defined(LATE) && !defined(BROKEN_HOLDOFF_SENT)
	;                       /* the claim has the time when it was sent; what was lost may have been granted later */
	if
	:: HOLDS_OFF(owner[me]) && HERE + WINDOW + 1 + MARGIN > owner[me].next -> owner[me].next = HERE + WINDOW + 1 + MARGIN
	:: else
	fi
#endif
#endif
}

/* ---- The store executes a request ---- */

#ifdef BROKEN_CLAIM_BLIND   /* a claim does not compare what the row carries */
#define UNCHANGED(q) (1)
#else
#ifdef BROKEN_CLAIM_BOUND   /* token and revision are compared, the bound is not */
#define UNCHANGED(q) (db.token == q.token && db.revision == q.revision)
#else
#ifdef ONLY_BOUND           /* not broken: see README.md */
#define UNCHANGED(q) (db.bound == q.bound)
#else
#ifdef NO_REVISION          /* not broken: see README.md */
#define UNCHANGED(q) (db.token == q.token && db.bound == q.bound)
#else
#define UNCHANGED(q) (db.token == q.token && db.revision == q.revision && db.bound == q.bound)
#endif
#endif
#endif
#endif

#define RESERVED 14         /* the token of a row that is reserved, for SQL or for a backfill */
#if defined(SQL) && !defined(BROKEN_SQL_CLAIMABLE) || defined(PAST)
#define FOR_GO (db.token != RESERVED)
#define NEVER 255
#else
#define FOR_GO (1)
#define NEVER 0
#endif

#ifdef EXPIRY
#define TAKEABLE(q) (db.token == 0 || db.expires + GAP < AT(q))
#ifdef BROKEN_REVIVE        /* an expired lease can be renewed */
#define ALIVE(q) (1)
#else
#define ALIVE(q) (db.expires >= AT(q))
#endif
#ifdef ADOPT_EXPIRED        /* not broken: see README.md */
#define ADOPTABLE (1)
#else
#define ADOPTABLE (db.expires >= now)
#endif
#define EXTEND(q) db.expires = AT(q) + TTL
#else
#define TAKEABLE(q) FOR_GO
#define ALIVE(q) (1)
#define ADOPTABLE (1)
#define EXTEND(q) skip
#endif

/* What a write raises in addition to the bound, and whether its reply counts. */
#ifdef HOST_CLOCKS
#define RAISE_TIME(q) if :: db.time < q.at -> db.time = q.at :: else fi
#else
#define RAISE_TIME(q) skip
#endif
#if defined(READS_FINGERPRINT) && !defined(REPLY_FINGERPRINT) && !defined(BROKEN_READ_FINGERPRINT) /* the fingerprint may have changed since the read */
#define READ_HERE(q) (q.cluster == current)
#else
#define READ_HERE(q) (1)
#endif
#ifdef REPLY_FINGERPRINT
#ifdef BROKEN_RENEW_ANY_CLUSTER /* the lease may have been claimed in another cluster */
#define SAME_CLUSTER(q) (1)
#else
#define SAME_CLUSTER(q) (db.claimed == q.cluster)
#endif
#ifdef BROKEN_REPLY_ANY_CLUSTER /* the reply may come from another cluster than the one that was read */
#define REPLIED(q) done = 1
#else
#define REPLIED(q) done = (q.cluster == current)
#endif
#define CLAIMED_IN(q) db.claimed = q.cluster
#else
#define SAME_CLUSTER(q) (1)
#define REPLIED(q) done = 1
#define CLAIMED_IN(q) skip
#endif

#ifdef FINGERPRINT
#ifdef ZNODES
#define FENCED (db.stored == current && db.epoch == epoch)
#else
#define FENCED (db.stored == current)
#endif
#else
#define FENCED (1)
#endif

#if defined(FINGERPRINT) && !defined(BROKEN_CLAIM_FINGERPRINT) && !defined(ZNODES)
#ifdef BROKEN_CLAIM_FENCE   /* stored and current fingerprint are compared, but not the fence that the claimer saw */
#define SAME_HISTORY(q) (db.stored == current)
#else
#ifdef REPLY_FINGERPRINT
#define SAME_HISTORY(q) (db.stored == q.cluster && db.fence == q.fence)
#else
#define SAME_HISTORY(q) (db.stored == current && db.fence == q.fence)
#endif
#endif
#else
#define SAME_HISTORY(q) (1)
#endif

#ifdef BROKEN_RENEW_BLIND   /* a renewal does not compare what the row carries; the limit keeps the search finite */
#define HELD(q) (db.revision < TOKENS)
#else
#ifdef BROKEN_RENEW_PLAIN   /* one token for the whole lease, no revision */
#define HELD(q) (db.token == q.token)
#else
#ifdef NO_REVISION
#define HELD(q) (db.token == q.token)
#else
#define HELD(q) (db.token == q.token && db.revision == q.revision)
#endif
#endif
#endif

#ifdef BROKEN_RELEASE_BLIND /* a release does not compare what the row carries */
#define RELEASABLE(q) (1)
#else
#ifdef BROKEN_RENEW_PLAIN
#define RELEASABLE(q) (db.token == q.token)
#else
#ifdef NO_REVISION
#define RELEASABLE(q) (db.token == q.token)
#else
#define RELEASABLE(q) (db.token == q.token && db.revision == q.revision)
#endif
#endif
#endif

#ifndef SQL
#define end_sessions() skip
#define replace_sessions() skip
#endif

#if DELETES > 0
#define PRESENT (!db.missing)
#else
#define PRESENT (1)
#endif

#if defined(VOLATILE) && !defined(BROKEN_VOLATILE_CLAIM)    /* a claim that expects a durable store runs in a volatile one */
#define CLAIM_KEPT(q) (!early || q.holdoff)
#else
#define CLAIM_KEPT(q) (1)
#endif
#if defined(VOLATILE) && !defined(BROKEN_VOLATILE_RENEW)    /* a renewal that expects a durable store runs in a volatile one */
#define RENEW_KEPT(q) (!early || q.holdoff)
#else
#define RENEW_KEPT(q) (1)
#endif

inline raise(q) {           /* bound = max(bound, least(wanted, cap)) */
	do
	:: db.bound < CAP_AT(q) -> db.bound++
	:: break
	od
}

inline apply(q) {
	if
	:: q.kind == CLAIM && PRESENT && UNCHANGED(q) && TAKEABLE(q) && SAME_HISTORY(q) && CLAIM_KEPT(q) && READ_HERE(q) ->
#if (defined(HOLDOFF) || defined(VOLATILE)) && !defined(BROKEN_HOLDOFF_GRANTS)
		if
		:: HOLDS_OFF(q) && db.bound < CAP_AT(q) + MARGIN -> db.bound = CAP_AT(q) + MARGIN
		:: !HOLDS_OFF(q) -> raise(q)
		:: else
		fi;
#else
		raise(q);
#endif
		db.token = q.fresh; db.revision++; EXTEND(q); RAISE_TIME(q); CLAIMED_IN(q);
		REPLIED(q)
	:: q.kind == RENEW && PRESENT && HELD(q) && ALIVE(q) && RENEW_KEPT(q) && SAME_CLUSTER(q) && READ_HERE(q) ->
#ifdef BROKEN_RENEW_LOWERS  /* bound = least(wanted, cap): a cap below the bound lowers it */
		db.bound = 0;
#endif
#ifdef BROKEN_RENEW_PLAIN   /* bound = wanted, which was above the limit when it was sent */
		db.bound = q.bound;
#endif
		raise(q);
#ifndef BROKEN_RENEW_PLAIN
		db.token = q.fresh; db.revision++;
#endif
		EXTEND(q); RAISE_TIME(q);
		REPLIED(q)
	:: q.kind == RELEASE && PRESENT && RELEASABLE(q) && READ_HERE(q) ->
		if
		:: q.bound < db.bound -> db.bound = q.bound
		:: else
		fi;
		db.token = 0; db.revision++;
		done = 1
	:: else
	fi
}

#ifdef ZNODES
#ifdef BROKEN_NO_ERA        /* a write is conditional on the version alone, and is applied in any epoch */
#define ERA(q) (1)
#define IN_TIME(q) (1)
#else
#ifdef BROKEN_ERA_NUMBER    /* the era is compared by the epoch alone, not by a node with a random name */
#define ERA(q) (1)
#else
#define ERA(q) (db.era == q.era)
#endif
#ifdef BROKEN_ANY_EPOCH     /* the node of the era must exist, but a write is applied in any epoch */
#define IN_TIME(q) (1)
#else
#define IN_TIME(q) (q.epoch == epoch)
#endif
#endif
#ifdef BROKEN_ANY_NODE      /* a write for a node that was deleted is applied to the next one */
#define STRANGE(q) (0)
#else
#define STRANGE(q) (q.node != db.node)
#endif
#ifdef ANY_LAYOUT           /* not broken: see README.md */
#define LAYOUT(q) (1)
#else
#define LAYOUT(q) (q.kind != CLAIM || db.layout == q.layout)
#endif

/* The write is executed, and from then on every reader applies it. */
inline execute(q) {
	if
	:: q.kind != NOTHING && PRESENT && db.version == q.version && ERA(q) && LAYOUT(q) ->
		db.version++;
		if
		:: STRANGE(q) ->    /* what it replaced is unknown: the row starts again, above everything */
			db.token = 0; db.revision = 0; db.bound = CAP + MARGIN;
#ifdef EXPIRY
			db.expires = 0
#endif
		:: else ->
			db.token = q.token; db.revision = q.revision;
#ifdef EXPIRY
			db.expires = q.expires;
#endif
			if
			:: q.kind == CLAIM -> db.bound = q.bound
			:: else -> db.bound = q.was
			fi;
			if
			:: IN_TIME(q) ->
				apply(q);
			:: else
			fi
		fi
	:: else
	fi
}
#else
#define execute(q) apply(q)
#endif

/* The store answers a write. All that was written until now is on disk. */
#if CRASHES > 0
inline answer() {
	if
#ifdef LIMIT_VOLATILE_COMMIT    /* the store becomes volatile after it has checked that it is not */
	:: early = 1
#endif
#ifdef VOLATILE
	:: !early && crashes < CRASHES -> to_disk(db)
#else
	:: crashes < CRASHES -> to_disk(db)
#endif
	:: else
	fi
}
#else
#define answer() skip
#endif

/* ---- An owner ---- */

#define ISSUING (owner[me].state == HOLDING || owner[me].state == RENEWING)

#ifdef BROKEN_ISSUE_AT_BOUND
#define LIMIT (owner[me].limit + 1)
#else
#define LIMIT owner[me].limit
#endif

/* Whether a probe lets the process claim. With NO_HOLDOFF it refuses a volatile store. Claims that may both be executed agree
   in whether they hold off. */
#ifdef VOLATILE
#ifdef NO_HOLDOFF
#define PROBED (!early)
#else
#define PROBED (owner[me].state == IDLE || owner[me].holdoff == early)
#endif
#else
#define PROBED (1)
#endif

/* Whether the row carries the token of a claim that was sent, or of the renewal that was. */
#ifdef BROKEN_CLAIM_ADOPT_ANY
#define CLAIMED (PRESENT)
#else
#define CLAIMED (PRESENT && (owner[me].mine & (1 << db.token)) && ADOPTABLE)
#endif
#ifdef BROKEN_ADOPT_ANY
#define RENEWED (PRESENT)
#else
#define RENEWED (PRESENT && owner[me].fresh == db.token && ADOPTABLE)
#endif

proctype Process(byte me) {
end:
	do
	/* Probe, and send a claim. The range will begin at the bound seen or at the fence seen, whichever is larger. After a claim
	   without reply another may be sent. The row may carry the token of either, and the range begins at the larger start. */
	:: SEND { (owner[me].state == IDLE || owner[me].state == UNSURE) && PRESENT && FENCED && PROBED && tokens < TOKENS && me <= started ->
		if
		:: me == started -> started++
		:: else
		fi;
		tokens++;
		call[me].fresh = tokens;
		call[me].kind = CLAIM; call[me].token = db.token; call[me].revision = db.revision; call[me].bound = db.bound;
		owner[me].state = CLAIMING;
#ifdef VOLATILE
		call[me].holdoff = early; owner[me].holdoff = early;
#endif
#ifdef READS_FINGERPRINT
		call[me].cluster = current;
#endif
		SENT(call[me]);
#ifndef BROKEN_CLAIM_ZERO
		if
		:: db.bound > owner[me].next -> owner[me].next = db.bound
		:: else
		fi;
#endif
		read(call[me]);
#ifdef FINGERPRINT
		call[me].fence = db.fence;
#ifndef BROKEN_NO_FENCE
		if
		:: db.fence > owner[me].next -> owner[me].next = db.fence
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
		:: done -> answer(); hold(me); extend(me)
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

	/* Read the row. If it carries the token of a claim, that token and the revision are adopted, and a renewal may be sent.
	   Nothing is granted: what was read may not be on disk. */
	:: d_step { owner[me].state == UNSURE && CLAIMED ->
		hold(me);
#ifdef BROKEN_READ_GRANTS
		extend(me)
#endif
		}

	/* Issue a counter that shall be watched, or issue the watched one again. All others are issued without a trace. */
	:: atomic { ISSUING && watched == 0 && owner[me].next < LIMIT ->
		do
		:: owner[me].next + 1 < LIMIT -> owner[me].next++
		:: break
		od;
		owner[me].next++; watched = owner[me].next }
	:: d_step { ISSUING && watched > owner[me].next && watched <= LIMIT -> assert(false /* issued twice */) }

	/* Send a renewal. One at a time; but while one waits for its reply, an earlier one with the same token may be a ghost. */
	:: SEND { owner[me].state == HOLDING && (owner[me].fresh || tokens < TOKENS) && MINE ->
		if
		:: owner[me].fresh == 0 -> tokens++; owner[me].fresh = tokens
		:: else
		fi;
		call[me].kind = RENEW; call[me].token = owner[me].token; call[me].revision = owner[me].revision;
		call[me].fresh = owner[me].fresh;
		read(call[me]);
#ifdef VOLATILE
		call[me].holdoff = owner[me].holdoff;
#endif
#ifdef READS_FINGERPRINT
		call[me].cluster = current;
#endif
		SENT(call[me]);
#ifdef BROKEN_RENEW_PLAIN
		call[me].bound = owner[me].limit + 1;
#endif
		owner[me].state = RENEWING }

	/* It is executed, and answered or not. Only an answered one raises the limit. */
	:: atomic { owner[me].state == RENEWING ->
		execute(call[me]);
		if
		:: done -> answer(); adopt(me); extend(me)
		:: owner[me].state = HOLDING
		fi;
		done = 0;
		forget(call[me]) }
	:: d_step { owner[me].state == RENEWING && ghost[me].kind == NOTHING ->
		owner[me].state = HOLDING;
#ifdef BROKEN_RENEW_TIMEOUT
		owner[me].token = call[me].fresh; owner[me].revision++; owner[me].fresh = 0;
		if
		:: CAP > owner[me].limit -> owner[me].limit = CAP
		:: else
		fi;
#endif
		abandon(me) }

	/* Read the row after a renewal without reply. If it carries the token of that renewal, token and revision are adopted. If it
	   still carries the old token, the renewal may be sent again. Otherwise the lease is lost: see the next step. */
	:: d_step { owner[me].state == HOLDING && owner[me].fresh && RENEWED ->
		adopt(me);
#ifdef BROKEN_READ_EXTENDS
		extend(me)
#endif
		}

	/* The process ends, or drops its lease. (If it waits for a reply, it gives that up first.) */
	:: d_step { owner[me].state == HOLDING || owner[me].state == UNSURE -> drop(me) }

	/* Seal at any point of the range, and send a release, also if the lease has expired. The bound is not lowered while a renewal is not answered. */
	:: atomic { owner[me].state == HOLDING && MINE ->
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
		:: owner[me].fresh -> call[me].bound = 255
		:: else
		fi;
#endif
		read(call[me]);
		drop(me);
		owner[me].state = RELEASING } }
#endif
	:: d_step { owner[me].state == RELEASING ->
		execute(call[me]); done = 0; forget(call[me]); drop(me) }
	:: d_step { owner[me].state == RELEASING && ghost[me].kind == NOTHING -> abandon(me); drop(me) }

	/* A ghost of this process is executed, without a reply, or vanishes. */
	:: atomic { ghost[me].kind != NOTHING -> execute(ghost[me]); done = 0; forget(ghost[me]) }
	:: d_step { ghost[me].kind != NOTHING -> forget(ghost[me]) }
	od
}

/* ---- SQL writers ---- */

#ifdef SQL
#ifndef SESSIONS
#define SESSIONS 2
#endif

typedef Writer {
	bit checked;            /* it has read the row, and has not raised the sequence yet */
	byte start, history;    /* what it raises the sequence to */
	byte cap;               /* of the time when it read the row */
	byte limit;             /* it may issue counters below */
#ifdef BIRTHS
	byte trusts, born;      /* while the sequence has this history, and is this one */
#endif
#ifdef UNLOGGED
	bit known;              /* no commits may have been lost since the sequence was last raised */
	byte flag;              /* 1 + the sequence for which it has checked the row; 0: it has not */
#endif
}
Writer writer[SESSIONS];
byte each;                  /* scratch */

#ifdef BIRTHS
byte born;                  /* which sequence it is: how often one was created */
byte drops;
byte checking;              /* sessions that have checked the row and not raised the sequence yet */
#ifdef BROKEN_SQL_DROP_EARLY    /* DROP does not wait */
#define UNUSED (1)
#else
#define UNUSED (checking == 0)
#endif
#ifdef BROKEN_SQL_KEPT_LIMIT    /* a session keeps its limit for any sequence of the name */
#define TRUSTED(me) (1)
#define CALLED (db.called)
#else
#ifdef BROKEN_SQL_BORN      /* it keeps it for any sequence that was raised for the same fingerprint */
#define TRUSTED(me) (writer[me].trusts == db.history && db.called)
#define CALLED (db.called)
#else
#ifdef BROKEN_SQL_CALLED    /* a sequence that is new counts as raised, if it was raised before it was dropped */
#define TRUSTED(me) (writer[me].trusts == db.history)
#define CALLED (1)
#else
#define TRUSTED(me) (writer[me].trusts == db.history && writer[me].born == born && db.called)
#define CALLED (db.called)
#endif
#endif
#endif
#define USES(n) checking = checking + n
#else
#define TRUSTED(me) (1)
#define CALLED (1)
#define UNUSED (1)
#define USES(n) skip
#endif

#ifdef UNLOGGED
#ifdef BIRTHS
#define THIS (1 + born)
#else
#define THIS 1
#endif
#ifdef BROKEN_SQL_UNCHECKED     /* a session issues what is open without a check of the row */
#define FLAGGED(me) (1)
#else
#define FLAGGED(me) (writer[me].flag == THIS)
#endif
#define MAY_ISSUE(me, x) ((x) < db.open && FLAGGED(me) || (x) < writer[me].limit && TRUSTED(me))
#else
#define MAY_ISSUE(me, x) ((x) < writer[me].limit && TRUSTED(me))
#endif

inline end_sessions() {
#ifdef BIRTHS
	checking = 0;
#endif
	each = 0;
	do
	:: each < SESSIONS ->
		writer[each].checked = 0; writer[each].start = 0; writer[each].history = 0; writer[each].cap = 0; writer[each].limit = 0;
#ifdef BIRTHS
		writer[each].trusts = 0; writer[each].born = 0;
#endif
#ifdef UNLOGGED
		writer[each].known = 0; writer[each].flag = 0;
#endif
		each++
	:: else -> break
	od;
	each = 0
}
#ifdef LIVE
#define replace_sessions() born++
#else
#define replace_sessions() end_sessions()
#endif

inline start_above(me, x) {
	if
	:: x > writer[me].start -> writer[me].start = x
	:: else
	fi
}

proctype Session(byte me) {
end:
	do
	/* A migration reserves the row. */
	:: d_step { PRESENT && FOR_GO && db.token != RESERVED &&
#ifdef EXPIRY
		(db.token == 0 || db.expires + GAP < now) ->
		db.expires = NEVER;
#else
		(1) ->
#endif
		db.token = RESERVED; db.revision++;
#if defined(UNLOGGED) && !defined(BROKEN_SQL_ASYNC) /* readers see the reservation before it is on disk */
		answer()
#endif
		}

	/* Read whether the row is reserved, and where to start. */
	:: d_step { PRESENT && db.token == RESERVED && !writer[me].checked && (writer[me].limit < CAP || !TRUSTED(me)) ->
		writer[me].checked = 1; writer[me].cap = CAP; USES(1);
#ifndef BROKEN_SQL_BOUND    /* it may start below the bound of the row */
		start_above(me, db.bound);
#endif
#ifdef FINGERPRINT
		writer[me].history = current;
#ifndef BROKEN_SQL_NO_FENCE
		start_above(me, db.fence);
		if
		:: db.history != current || !CALLED -> start_above(me, CAP + MARGIN)
		:: else
		fi
#endif
#endif
#ifdef UNLOGGED
		; writer[me].known = (db.history == current && CALLED)
#endif
		}
#ifdef UNLOGGED
	/* Raise the sequence, if commits may have been lost. Otherwise enter a counter, if that is below the cap. */
	:: d_step { writer[me].checked ->
		if
		:: writer[me].start > db.sequence && (!writer[me].known || writer[me].start < writer[me].cap) -> db.sequence = writer[me].start
		:: else
		fi;
		if
		:: !writer[me].known ->
			db.history = writer[me].history;
#ifdef BROKEN_SQL_OPEN_RAISED   /* the raised tick has numbers left that become ids */
			db.open = db.sequence + 1
#else
			db.open = 0
#endif
		:: else
		fi;
		if
		:: writer[me].known && writer[me].start >= writer[me].cap
		:: else ->
			writer[me].limit = writer[me].cap;
#ifdef BIRTHS
			writer[me].trusts = writer[me].history; writer[me].born = born
#endif
		fi;
		writer[me].flag = THIS;
#ifdef BIRTHS
		db.called = 1; USES(-1);
#endif
		writer[me].checked = 0; writer[me].start = 0; writer[me].history = 0; writer[me].cap = 0; writer[me].known = 0 }
	/* Enter a counter: other sessions may then issue up to the limit of this one. */
	:: d_step { db.sequence < writer[me].limit && TRUSTED(me) && db.open < writer[me].limit -> db.open = writer[me].limit }
#else
	/* Raise the sequence, and from then on issue. */
	:: d_step { writer[me].checked ->
		if
		:: writer[me].start > db.sequence -> db.sequence = writer[me].start
		:: else
		fi;
#ifdef BIRTHS
		db.called = 1; writer[me].trusts = writer[me].history; writer[me].born = born; USES(-1);
#endif
		db.history = writer[me].history; writer[me].limit = writer[me].cap;
		writer[me].checked = 0; writer[me].start = 0; writer[me].history = 0; writer[me].cap = 0 }
#endif
#ifdef BROKEN_SQL_FOREVER   /* a session that has read the row once does not read it again */
	:: d_step { writer[me].limit && writer[me].limit < CAP -> writer[me].limit = CAP }
#endif

	:: atomic { watched == 0 && MAY_ISSUE(me, db.sequence) ->
		do
		:: MAY_ISSUE(me, db.sequence + 1) -> db.sequence++
		:: break
		od;
#ifdef UNLOGGED
		db.sequence++; watched = db.sequence }
#else
		db.sequence++; watched = db.sequence;
		answer() }
#endif
	:: d_step { watched > db.sequence && MAY_ISSUE(me, watched - 1) -> assert(false /* issued twice */) }
	od
}
#endif

/* ---- A backfill ---- */

#ifdef PAST
byte past, past_limit;      /* it may issue past .. past_limit-1 */

#ifdef BROKEN_PAST_HELD     /* a row that a process has held is taken too, if it is free */
#define NEVER_HELD (1)
#else
#define NEVER_HELD (db.revision == 0)
#endif
#if defined(FINGERPRINT) && !defined(BROKEN_PAST_FENCE) /* the fence was raised since the row was added, so a lease of it may be lost */
#define UNFENCED (db.bound >= db.fence)
#else
#define UNFENCED (1)
#endif
#ifdef VOLATILE
#define DURABLE (!early)
#else
#define DURABLE (1)
#endif

#ifdef ZNODES
#define THIS_EPOCH (db.epoch == epoch)
#else
#define THIS_EPOCH (1)
#endif

inline raise_past() {
#ifdef ZNODES
	db.version++;
#endif
	if
#ifndef BROKEN_PAST_BOUND   /* the bound stays where it is */
	:: db.bound < CAP -> db.bound = CAP
#endif
	:: else
	fi
}

inline extend_past() {      /* the reply says how far the row is granted */
#ifdef BROKEN_PAST_BOUND
	past_limit = CAP
#else
	if
	:: db.bound > past_limit -> past_limit = db.bound
	:: else
	fi
#endif
}

proctype Backfill() {
end:
	do
	/* Reserve a row that no process has ever held. There may be no reply. */
	:: atomic { PRESENT && FENCED && DURABLE && db.token == 0 && NEVER_HELD && UNFENCED ->
		d_step {
		db.token = RESERVED; db.revision++;
#ifdef EXPIRY
		db.expires = NEVER;
#endif
		raise_past()
		};
		if
		:: d_step { answer(); extend_past() }
		:: skip
		fi }
	/* Find the reservation, and renew it: what was read may not be on disk. */
	:: d_step { PRESENT && THIS_EPOCH && DURABLE && db.token == RESERVED && past_limit < CAP ->
#ifdef BROKEN_PAST_READ     /* what was read is taken for granted */
		past_limit = db.bound
#else
		db.revision++; raise_past(); answer(); extend_past()
#endif
		}
#ifdef FREES
	:: d_step { db.token == RESERVED ->
		db.token = 0; db.revision++;
#ifdef EXPIRY
		db.expires = 0
#endif
		}
#endif

	:: atomic { watched == 0 && past < past_limit ->
		do
		:: past + 1 < past_limit -> past++
		:: break
		od;
		past++; watched = past }
	:: d_step { watched > past && watched <= past_limit -> assert(false /* issued twice */) }
	od
}
#endif

/* ---- What happens to the store ---- */

#if FAILOVERS > 0 && !defined(LIMIT_UNDELETE)   /* the standby, or the next backup, has the deletion */
#define STAYS (!standby)
#else
#define STAYS (1)
#endif

#if SKEW > 0 && !defined(HOST_CLOCKS)
#define LATER_CLOCK if :: !behind && now >= SKEW -> now = now - SKEW; behind = 1 :: skip fi
#else
#define LATER_CLOCK skip
#endif

#ifdef HOST_CLOCKS          /* HERE is the time of the process that adds a row or raises a fence */
#ifdef BROKEN_ADD_HOST      /* a row is added by the clock of one host alone */
#define ADDED (HERE + WINDOW + 1)
#else
#define ADDED ((db.time > HERE -> db.time : HERE) + WINDOW + 1)
#endif
#define CAP_HERE (HERE + WINDOW + 1)
#else
#define CAP_HERE CAP
#ifdef FILE                 /* a row is lost only together with its namespace, whose fence is above all that was granted */
#define ADDED now
#else
#ifdef BROKEN_ADD_CAP       /* no allowance for a clock that has gone back */
#define ADDED CAP
#else
#define ADDED (CAP + MARGIN)
#endif
#endif
#endif

/* Rows are added, and fences raised, by processes that have read the store before. The namespace's text is compared. */
#ifdef MARKS
typedef Late {
	bit sent;
	byte at, mark, stored;  /* the bound or fence to write, the mark and the fingerprint of the read */
#ifdef ZNODES
	byte epoch;
#endif
}
Late adding, fencing;
byte marks;                 /* drawn so far */
#define NEW_MARK marks++; db.mark = marks
#ifdef BROKEN_UNMARKED      /* a namespace that was deleted has no mark, like one that never was */
#define NO_MARK db.mark = 0
#else
#define NO_MARK NEW_MARK
#endif
#ifdef BROKEN_MARK          /* the mark is not compared */
#define MARKED(l) (1)
#else
#define MARKED(l) (l.mark == db.mark)
#endif
#ifdef FINGERPRINT
#ifdef ZNODES
#define UNREPLACED(l) (l.stored == db.era && l.epoch == epoch)
#else
#ifdef REPLY_FINGERPRINT
#define UNREPLACED(l) (1)
#else
#define UNREPLACED(l) (l.stored == current)
#endif
#endif
#else
#define UNREPLACED(l) (1)
#endif
inline read_late(l) {
	l.sent = 1; l.mark = db.mark;
#ifdef FINGERPRINT
	l.stored = current;
#endif
#ifdef ZNODES
	l.epoch = epoch
#endif
}
inline forget_late(l) {
	l.sent = 0; l.at = 0; l.mark = 0; l.stored = 0;
#ifdef ZNODES
	l.epoch = 0
#endif
}
#else
#define NEW_MARK skip
#define NO_MARK skip
#endif

#if defined(TIMED) || CRASHES > 0
proctype Store() {
end:
	do
#ifdef TIMED
	:: d_step { now < END -> now++ }
#endif
#ifdef STEPS
	:: d_step { !behind && now >= SKEW -> now = now - SKEW; behind = 1 }
#endif

#if DELETES > 0
	/* The row is deleted (or the table truncated) ... */
	:: d_step { !db.missing && deletes < DELETES && STAYS ->
		deletes++; db.missing = 1; db.token = 0; db.revision = 0;
#ifdef EXPIRY
		db.expires = 0;
#endif
#ifdef FILE
		db.stored = NO_NAMESPACE; db.fence = 0; NO_MARK;
#endif
		db.bound = 0 }
	/* ... and added again, by any process, at any time. Its bound is above all that the lost row can have granted. */
	:: d_step { db.missing ->
		db.missing = 0;
#ifdef ZNODES
		db.version = 0; db.nodes++; db.node = db.nodes;
#endif
#ifdef BROKEN_ADD_ZERO
		db.bound = 0
#else
#ifdef LIMIT_CREATE_COARSE      /* while there is no namespace, the counter of now */
		if
		:: db.stored == NO_NAMESPACE -> db.bound = now
		:: else -> db.bound = ADDED
		fi
#else
		db.bound = ADDED
#endif
#endif
		; NEW_MARK }
#ifdef MARKS
	:: d_step { db.missing && !adding.sent -> read_late(adding); adding.at = ADDED }
	:: d_step { adding.sent ->
		if
		:: db.missing && MARKED(adding) && UNREPLACED(adding) ->
			db.missing = 0; db.bound = adding.at; NEW_MARK
#ifdef ZNODES
			; db.version = 0; db.nodes++; db.node = db.nodes
#endif
		:: else
		fi;
		forget_late(adding) }
#endif
#if defined(FINGERPRINT) && !defined(FILE)
	/* The namespace's row is deleted, and with it the fence. */
	:: d_step { db.stored != NO_NAMESPACE && deletes < DELETES -> deletes++; db.stored = NO_NAMESPACE; db.fence = 0; NO_MARK;
#ifdef ZNODES
		db.layout++
#endif
		}
#endif
#endif

#if DROPS > 0
	/* The sequence is dropped and created again, or its history, or both. */
	:: atomic { drops < DROPS && UNUSED ->
		drops++;
		if
		:: db.sequence = 0; db.called = 0; born++;
#ifdef UNLOGGED
			db.open = 0;
#endif
			if
			:: db.history = NO_HISTORY
			:: skip
			fi
		:: db.history = NO_HISTORY
		fi }
#endif

#ifdef VIEWS
	/* A node joins the cluster or leaves it: the fingerprint changes, and no commit is lost. */
#ifdef ZNODES
	:: d_step { views < VIEWS -> views++; epoch++ }
#else
	:: d_step { views < VIEWS -> views++; current++ }
#endif
#endif

#if CRASHES > 0
	/* All that was written until now reaches the disk. */
	:: d_step { crashes < CRASHES -> to_disk(db) }
	/* The server crashes, and starts again with what is on disk. */
	:: atomic { crashes < CRASHES ->
		d_step {
		crashes++; copy(db, disk); end_sessions();
		if
		:: crashes == CRASHES -> clear(disk)
		:: else
		fi;
#ifdef CRASH_CHANGES_FINGERPRINT
		current++
#endif
		};
#ifdef CURED                /* the setting is lost in the restart, as that of SET GLOBAL is */
		if
		:: early = 0
		:: skip
		fi;
#endif
		LATER_CLOCK }
#endif
#ifdef VOLATILE
	/* Somebody has the store answer writes before they are on disk ... */
	:: d_step { !early && crashes < CRASHES -> early = 1 }
	/* ... and takes that back, before commits were lost. */
	:: d_step { early && crashes == 0 -> to_disk(db); early = 0 }
#endif

#if FAILOVERS > 0
	/* What the standby has received, or the backup holds, and the disk of this server does too ... */
	:: d_step { !standby && failovers < FAILOVERS -> standby = 1; to_standby();
#ifdef ZNODES
		older = epoch;
#endif
#if CRASHES > 0 && !defined(LIMIT_STANDBY_AHEAD)
		if
		:: crashes < CRASHES -> to_disk(db)
		:: else
		fi
#endif
		}
	/* ... is what the store has from now on. Its clock may be behind. */
#ifdef LIVE
	:: atomic { standby && UNUSED ->
#else
	:: atomic { standby ->
#endif
#if defined(VIEWS) && !defined(ZNODES)
		/* The fingerprint is new to the state that the store goes back to. The state that is lost may have had it. */
		if
#ifdef LIMIT_VIEW_NUMBER    /* views are counted from 1 again, so it may be the stored one */
		:: current = saved.stored
#endif
		:: saved.stored != current
		:: current++
		fi;
#endif
		d_step {
		standby = 0; failovers++;
#ifdef ZNODES               /* the servers elect a leader, in the epoch after the last one that they know */
#ifndef LIMIT_SAME_FINGERPRINT
		epoch = older + 1;
#endif
		older = 0;
#endif
#if defined(FINGERPRINT) && !defined(LIMIT_SAME_FINGERPRINT) && !defined(VIEWS) && !defined(ZNODES)
		current++;
#endif
#if CRASHES > 0
		if
		:: crashes < CRASHES -> to_disk(saved)
		:: else
		fi;
#endif
		copy(db, saved); clear(saved); replace_sessions()
		};
		LATER_CLOCK }
#endif

#ifdef FINGERPRINT
#ifdef BY_HAND              /* it may be raised at any time */
#define FENCE_DUE (db.stored != current || db.fence < CAP + MARGIN)
#else
#ifdef ZNODES
#define FENCE_DUE (db.stored != current && db.epoch == epoch)
	/* A process that finds another epoch than the era's begins the next era. */
	:: d_step { db.epoch != epoch -> eras++; db.era = eras; db.epoch = epoch }
#else
#define FENCE_DUE (db.stored != current)
#endif
#endif
	/* A process that probes and finds another fingerprint than the stored one raises the fence. If there is no namespace, it
	   creates one, with such a fence. */
	:: d_step { FENCE_DUE ->
		if
#ifdef BROKEN_NAMESPACE_ZERO    /* a new namespace has no fence */
		:: db.stored == NO_NAMESPACE
#endif
#ifdef LIMIT_CREATE_COARSE      /* the fence of a new namespace is the counter of now */
		:: db.stored == NO_NAMESPACE -> db.fence = now
#endif
#ifdef BROKEN_NAMESPACE_CAP     /* the fence of a new namespace is the bare cap */
		:: db.stored == NO_NAMESPACE -> db.fence = CAP
#endif
		:: db.fence < CAP_HERE + MARGIN -> db.fence = CAP_HERE + MARGIN
		:: else
		fi;
		db.stored = current; NEW_MARK
#ifdef ZNODES
		; db.layout++
#endif
		}
#ifdef MARKS
	:: d_step { FENCE_DUE && !fencing.sent -> read_late(fencing); fencing.at = CAP_HERE + MARGIN }
	:: d_step { fencing.sent ->
		if
		:: MARKED(fencing) && UNREPLACED(fencing) ->
			if
			:: db.fence < fencing.at -> db.fence = fencing.at
			:: else
			fi;
			db.stored = fencing.stored; NEW_MARK
#ifdef ZNODES
			; db.layout++
#endif
		:: else
		fi;
		forget_late(fencing) }
#endif
#endif
	od
}
#endif

init {
	atomic {
		byte i = 0;
#if DELETES > 0
		db.missing = 1;
#ifdef FINGERPRINT
		db.stored = NO_NAMESPACE;
#endif
#endif
#ifdef SQL
		db.history = NO_HISTORY;
#endif
		NO_MARK;
#if CRASHES > 0
		to_disk(db);
#endif
#if defined(TIMED) || CRASHES > 0
		run Store();
#endif
#ifdef SQL
		do
		:: i < SESSIONS -> run Session(i); i++
		:: else -> break
		od;
		i = 0;
#endif
#ifdef PAST
		run Backfill();
#endif
		do
		:: i < OWNERS -> run Process(i); i++
		:: else -> break
		od;
		i = 0
	}
}
