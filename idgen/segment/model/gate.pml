/*
 * This is a model of the gate of a Segment (../gate.go). Calls draw places from the gate with an addition and a comparison,
 * which are two separate steps, while other calls shut the gate and open it for another run. We check that no place is handed
 * out twice, that the store has granted every place handed out, and that no place is lost. check.sh searches all interleavings.
 *
 * Two of the callers draw one place at a time, as Next does, and a third one draws two, as Append does. The store grants runs
 * of one or three places, with or without a gap before them. Each BROKEN_ macro selects a variant that breaks one rule.
 */
#ifndef FIRST
#define FIRST   2         /* number of calls by the first caller, */
#define SECOND  2         /* by the second, */
#define APPENDS 1         /* and by the third, which draws two places at a time */
#endif

#define FAR     100       /* above every granted place, like far in the code */
#define MOST    40

byte drawn = FAR;
short plain = -1, last = -1;
byte late, awaited;
bool isOpen, locked;

byte first[5], final[5];  /* the chain of granted runs, the next one at index 0 */
byte chain;               /* its length */
byte granted = 1;         /* the first place that was not granted */
bool ours[MOST];          /* granted to this process */
byte had[MOST];           /* how many times it was handed out */
byte done;

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline issue(place) {
	d_step {
		assert(place < MOST && ours[place]);
		assert(had[place] == 0);
		had[place] = 1;
	}
}

/* The chain is guarded by the lock, so each operation on it can be a single step. */
inline pop()            { d_step { chain--; first[0] = first[1]; final[0] = final[1]; first[1] = first[2]; final[1] = final[2]; first[2] = first[3]; final[2] = final[3]; first[3] = 0; final[3] = 0 } }
inline push(from, to)   { d_step { chain++; first[3] = first[2]; final[3] = final[2]; first[2] = first[1]; final[2] = final[1]; first[1] = first[0]; final[1] = final[0]; first[0] = from; final[0] = to } }

/* grant appends a run of one or three places. There may be a gap before it, which was granted to another process. */
inline grant() {
	if :: granted = granted + 2 :: skip fi;
	if :: n = 1 :: n = 3 fi;
	d_step {
		assert(chain < 4 && granted + n <= MOST);
		first[chain] = granted; final[chain] = granted + n - 1; chain++;
		do :: n > 0 -> ours[granted] = true; granted++; n-- :: else -> break od
	}
}

/* owned sets ok to whether the caller that incremented drawn to place owns it. */
inline owned(place) {
#ifdef BROKEN_COUNT_FIRST
	if :: place < FAR -> late++ :: else fi;
	ok = place <= last;
	if :: ok && place < FAR -> late-- :: else fi
#else
	ok = place <= last;
	if
#ifdef BROKEN_COUNT_FAR
	:: !ok -> late++
#else
	:: !ok && place < FAR -> late++
#endif
	:: else
	fi
#endif
}

/* take sets ok to whether it took the wanted number of places, which begin at p. */
inline take(wanted) {
	do
	::	l = last;
		p = drawn;
		if
		:: wanted > l - p -> ok = false; break
		:: else
		fi;
		atomic {
			if
			:: drawn == p -> drawn = p + wanted; p++; ok = true; break
			:: else
			fi
		}
	od
}

inline shut() {
	if
	:: isOpen ->
		isOpen = false;
#ifdef BROKEN_SHUT_NEAR
		d_step { p = drawn; if :: drawn < last -> drawn = last :: else fi };
#else
		d_step { p = drawn; drawn = FAR };
#endif
		l = last;
		awaited = (p > l -> p - l : 0);
		if :: p < l -> push(p + 1, l) :: else fi
	:: else
	fi
}

inline open() {
	if
#ifdef BROKEN_NO_WAIT
	:: chain > 0 && !isOpen ->
#else
	:: chain > 0 && !isOpen && late >= awaited ->
#endif
#ifndef BROKEN_NO_RESET
		late = 0;
#endif
#ifdef BROKEN_OPEN_FIRST
		drawn = first[0] - 1;
		last = final[0]; plain = final[0];
#else
		last = final[0]; plain = final[0];
		drawn = first[0] - 1;
#endif
		isOpen = true;
		pop()
	:: else
	fi
}

/* under draws places under the lock. The caller must hold the lock. */
inline under(wanted) {
	n = wanted;
	take(wanted);
	if
	:: ok -> do :: n > 0 -> issue(p); p++; n-- :: else -> break od
	:: else ->
		shut();
		do
		:: wanted > 0 ->
			if :: chain == 0 -> grant() :: else fi;
			issue(first[0]);
			d_step { first[0] = first[0] + 1 };
			if :: first[0] > final[0] -> pop() :: else fi;
			wanted--
		:: else -> break
		od;
		if :: chain == 0 -> grant() :: else fi;
		open()
	fi
}

active [2] proctype next() {
	byte calls, n, p, place, wanted;
	short l;
	bool ok;
	do
	:: calls < (_pid == 0 -> FIRST : SECOND) ->
		calls++;
		atomic { drawn++; place = drawn };
		if
		:: place <= plain -> issue(place)
		:: else ->
			owned(place);
			if
			:: ok -> issue(place)
			:: else -> lock(); wanted = 1; under(wanted); unlock()
			fi
		fi
	:: else -> break
	od;
	done++
}

active proctype append() {
	byte calls, n, p, wanted;
	short l;
	bool ok;
	do
	:: calls < APPENDS ->
		calls++;
		take(2);
		if
		:: ok -> issue(p); issue(p + 1)
		:: else -> lock(); wanted = 2; under(wanted); unlock()
		fi
	:: else -> break
	od;
	done++
}

/* Once all callers are done, every place must have been handed out, or still be available. */
active proctype audit() {
	byte i, k;
	done == 3;
	d_step {
		i = 0;
		do
		:: i < MOST ->
			if
			:: ours[i] && had[i] == 0 && !(isOpen && drawn < i && i <= last) ->
				k = 0;
				do
				:: k < chain && (i < first[k] || i > final[k]) -> k++
				:: else -> break
				od;
				assert(k < chain)
			:: else
			fi;
			i++
		:: else -> break
		od
	}
}
