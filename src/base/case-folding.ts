/**
 * Capital letters whose lower case is that of another capital letter: the Kelvin sign is not `K`, but its lower case is
 * `k`. An `I` followed by a combining dot (U+0307) has the lower case of `İ`.
 */
const SHARED_LOWER_CASE = /([\u212a\u2126\u212b\u03f4\u01c5\u01c8\u01cb\u01f2]|I(?=\u0307))/u;

/**
 * Returns the key under which names are compared without regard to case. Two names have the same key only if they
 * consist of the same letters: a letter that merely shares its lower case with another one is not folded. Names are
 * stored under their keys, so the key of a name must never change.
 */
export function nameKey(name: string): string {
  if (!SHARED_LOWER_CASE.test(name)) return name.toLowerCase();
  // A `split` by a group puts each matched letter at an odd index.
  const parts = name.split(SHARED_LOWER_CASE);
  return parts.map((part, at) => (at % 2 === 0 ? part.toLowerCase() : part)).join("");
}
