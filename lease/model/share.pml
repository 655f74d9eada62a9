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

typedef lease { bool valid; byte token, confirmed, granted }
typedef file {
	byte lock;              /* 0, or 1 + the number of the process */
	lease has
}
file files[FILES];
lease copy;                    /* of a file, which may be put back in place of a file that was deleted */

inline clear(x) { x.valid = false; x.token = 0; x.confirmed = 0; x.granted = 0 }
inline assign(x, y) { x.valid = y.valid; x.token = y.token; x.confirmed = y.confirmed; x.granted = y.granted }

/* issue issues the counters from next until end. */
inline issue(end) {
	do
	:: next < end -> assert(!used[next]); used[next] = true; next++
	:: break
	od
}

/* forget ends a process. */
inline forget() { if :: f < FILES -> files[f].lock = 0 :: else fi; f = FILES; held = false; mine = 0; confirmed = 0; next = 0; end = 0 }

/* spare locks a file without a lease. If there is none, the process ends. */
inline spare() {
	if
	:: files[0].lock == 0 && !files[0].has.valid -> f = 0; files[f].lock = _pid + 1
	:: files[1].lock == 0 && !files[1].has.valid -> f = 1; files[f].lock = _pid + 1
	:: else -> forget()
	fi
}

/* write writes what the process has to its file. */
inline write() {
	if
	:: f < FILES -> files[f].has.valid = true; files[f].has.token = mine; files[f].has.confirmed = confirmed; files[f].has.granted = end
	:: else
	fi
}

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
		:: files[f].has.valid ->
#else
		:: files[f].lock == 0 && files[f].has.valid ->
#endif
			files[f].lock = _pid + 1; held = true; mine = files[f].has.token;
			confirmed = files[f].has.confirmed; next = files[f].has.granted; end = next
		:: else -> f = FILES
		fi }
	/* Claim from the store. */
	:: atomic { !held && last < TOKENS -> last++; token = last; next = bound; end = next;
		if :: bound < COUNTERS -> bound++ :: skip fi;
		held = true; mine = last; confirmed = bound }
	   atomic { spare(); write() }
	/* Grant: write it, then use it. */
	:: atomic { held && f < FILES && files[f].has.valid && end < confirmed -> end++;
#ifndef BROKEN_GRANT_FIRST
		files[f].has.granted = end
#endif
		}
#ifdef BROKEN_BEYOND
	:: atomic { held && f < FILES && files[f].has.valid && end < COUNTERS -> end++; files[f].has.granted = end }
#endif
	:: atomic { held -> issue(end) }
	/* Renew in the store. */
	:: atomic { held && last < TOKENS ->
#ifndef BROKEN_KEEP
		if :: f < FILES -> clear(files[f].has) :: else fi
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
	   :: atomic { held && replied -> if :: f == FILES -> spare() :: else fi; write() }
	   :: else
	   fi
	/* Close. */
	:: atomic { held && f < FILES && files[f].has.valid ->
#ifdef BROKEN_RELEASE_TOO_LOW
		if :: next > 0 -> files[f].has.granted = next - 1 :: else fi;
#else
		files[f].has.granted = next;
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
	atomic { if :: assign(copy, files[0].has) :: assign(copy, files[1].has) fi }
	atomic {
		if
		:: files[0].lock == 0 ->
#ifdef BROKEN_COPY
			assign(files[0].has, copy)
#else
			clear(files[0].has)
#endif
		:: true
		fi }
}
