/** Major and minor number of a version such as `1.2.0-rc.1+fcd9c58a`; null for any other text. */
export function numbersOf(version: string): readonly [major: number, minor: number] | null {
  const [, major, minor] = /^(\d+)\.(\d+)\.\d+/.exec(version) ?? [];
  return major === undefined || minor === undefined ? null : [Number(major), Number(minor)];
}

/**
 * True when nodes of both releases may share objects: their minor versions differ by one at most (docs/upgrading.md).
 */
export function isReleaseBeside(a: string, b: string): boolean {
  const [one, other] = [numbersOf(a), numbersOf(b)];
  return one !== null && other !== null && one[0] === other[0] && Math.abs(one[1] - other[1]) <= 1;
}

/** True when `a` is of an older minor version than `b`. */
export function isBehind(a: string, b: string): boolean {
  const [one, other] = [numbersOf(a), numbersOf(b)];
  return one !== null && other !== null && (one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]));
}
