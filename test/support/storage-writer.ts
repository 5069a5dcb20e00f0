import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { vi } from "vitest";
import { forgetPublishedKeys } from "../../src/issuer/published-keys.ts";
import { forgetInstallation } from "../../src/system/installation.ts";

/** Has somebody without keys write to the database of an object while the server is stopped. */
export async function writeStorage(stub: DurableObjectStub, ...statements: readonly string[]): Promise<void> {
  await runInDurableObject(stub, (_, { storage: { sql } }) => {
    for (const statement of statements) sql.exec(statement);
  });
  await evictDurableObject(stub);
  forgetInstallation();
  forgetPublishedKeys();
}

/** The lines about tampering that are logged from now on. */
export function tamperingLines(): () => Record<string, unknown>[] {
  const log = vi.spyOn(console, "error").mockReturnValue(undefined);
  return () =>
    log.mock.calls
      .map(([line]) => JSON.parse(String(line)) as Record<string, unknown>)
      .filter(({ type }) => type === "tampering");
}
