/*
 * Leases that the processes of a host pass on to each other through files: filestore.Share.
 *
 * One worker number. The store's row is a token and a bound; other hosts claim it at any time. A file is a lock and a
 * record: the token, the bound that the store has confirmed, and the first counter that no process of the host was granted.
 * Processes are paused anywhere, are killed anywhere, and lose replies. Each -DBROKEN_… leaves out a rule.
 */
#ifndef OWNERS
#define OWNERS 2
#endif
#ifndef COUNTERS
#define COUNTERS 4
#endif
#ifndef TOKENS
#define TOKENS 4
#endif
#define FILES 2

byte token, bound;              /* the row of the store */
byte last;                      /* the last token that was drawn */
bool used[COUNTERS];

typedef record { bool valid; byte token, confirmed, granted }
typedef file { byte lock; record r }
file files[FILES];
record copy;                    /* of a file, which may be put back in place of a file that was deleted */

inline clear(r) { r.valid = false; r.token = 0; r.confirmed = 0; r.granted = 0 }
inline assign(to, from) { to.valid = from.valid; to.token = from.token; to.confirmed = from.confirmed; to.granted = from.granted }

/* issue issues the counters from next until end. */
inline issue(end) {
	do
	:: next < end -> assert(!used[next]); used[next] = true; next++
	:: break
	od
}

/* spare locks a file without a lease. */
inline spare() {
	if
	:: files[0].lock == 0 && !files[0].r.valid -> f = 0; files[f].lock = _pid
	:: files[1].lock == 0 && !files[1].r.valid -> f = 1; files[f].lock = _pid
	fi
}

inline forget() { if :: f < FILES -> files[f].lock = 0 :: else fi; f = FILES; held = false; mine = 0; confirmed = 0; next = 0; end = 0 }

active [OWNERS] proctype process() {
	byte f = FILES;         /* its file */
	bool held;
	byte mine;              /* its token */
	byte confirmed, next, end;
	bool replied;
	do
	/* Continue the lease that another process has left. */
	:: atomic { !held ->
		if
		:: f = 0
		:: f = 1
		fi;
		if
#ifdef BROKEN_LOCK
		:: files[f].r.valid ->
#else
		:: files[f].lock == 0 && files[f].r.valid ->
#endif
			files[f].lock = _pid; held = true; mine = files[f].r.token;
			confirmed = files[f].r.confirmed; next = files[f].r.granted; end = next
		:: else -> f = FILES
		fi }
	/* Claim from the store. */
	:: atomic { !held && last < TOKENS -> last++; token = last; next = bound; end = next;
		if :: bound < COUNTERS -> bound++ :: skip fi;
		held = true; mine = last; confirmed = bound }
	   atomic { spare(); files[f].r.valid = true; files[f].r.token = mine; files[f].r.confirmed = confirmed; files[f].r.granted = end }
	/* Grant: write it, then use it. */
	:: atomic { held && f < FILES && files[f].r.valid && end < confirmed -> end++;
#ifndef BROKEN_GRANT_FIRST
		files[f].r.granted = end
#endif
		}
#ifdef BROKEN_BEYOND
	:: atomic { held && f < FILES && files[f].r.valid && end < COUNTERS -> end++; files[f].r.granted = end }
#endif
	:: atomic { held -> issue(end) }
	/* Renew in the store. */
	:: atomic { held && last < TOKENS ->
#ifndef BROKEN_KEEP
		if :: f < FILES -> clear(files[f].r) :: else fi
#endif
		skip }
	   atomic { last++;
		if
		:: token == mine -> token = last;
			if :: bound < COUNTERS -> bound++ :: skip fi;
			if
			:: replied = true
			:: replied = false      /* a read shows it that it has the row */
			fi;
			mine = last
		:: else -> replied = false; forget()
		fi;
		if
		:: held && replied -> confirmed = bound
		:: held && !replied -> confirmed = end;
			if :: f < FILES -> files[f].lock = 0; f = FILES :: else fi
		:: else
		fi }
	   if
	   :: atomic { held && replied -> if :: f == FILES -> spare() :: else fi;
		files[f].r.valid = true; files[f].r.token = mine; files[f].r.confirmed = confirmed; files[f].r.granted = end }
	   :: else
	   fi
	/* Close. */
	:: atomic { held && f < FILES && files[f].r.valid ->
#ifdef BROKEN_RELEASE_TOO_LOW
		if :: next > 0 -> files[f].r.granted = next - 1 :: else fi;
#else
		files[f].r.granted = next;
#endif
		forget() }
	/* It is killed. In the other states, that is the same as a pause without an end, except that the lock is freed. */
	:: atomic { held -> forget() }
	:: break
	od
}

/* Another host claims the worker number, and issues all that it was granted. */
active proctype other() {
	byte next;
	do
	:: atomic { last < TOKENS && bound < COUNTERS -> last++; token = last; next = bound; bound++; issue(bound); next = 0 }
	:: break
	od
}

/* Somebody copies a file, and restores the copy later, perhaps while the file is in use. */
active proctype operator() {
	atomic { if :: assign(copy, files[0].r) :: assign(copy, files[1].r) fi }
	atomic {
		if
		:: files[0].lock == 0 ->
#ifdef BROKEN_COPY
			assign(files[0].r, copy)
#else
			clear(files[0].r)
#endif
		:: true
		fi }
}
