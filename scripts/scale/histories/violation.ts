/** A history in which a rule did not hold. */
export class Violation extends Error {
  constructor(rule: string, at: number, details: Readonly<Record<string, unknown>> = {}) {
    super(`${rule} (at ${Math.round(at)} ms, ${JSON.stringify(details)})`);
  }
}
