import { ok } from "../../../src/base/result.ts";
import { restorableBackup } from "../../saved/make.ts";
import { restoreBackup } from "../../saved/restore.ts";
import type { GroveCommand } from "../arguments.ts";
import { type Called, failed } from "../client.ts";
import { type Session, styled } from "../terminal.ts";

/** Restores a backup into a server that was never initialized. Nothing is sent before all files of it were read. */
export async function restoreFrom(
  { client, terminal, json }: Session,
  { from, backup, ends }: Extract<GroveCommand, { kind: "restore" }>,
): Promise<Called<number>> {
  const found = restorableBackup(from, backup);
  if (!found.ok) return failed(found.error);
  const { store, name, manifest } = found.value;
  const progress = (done: number): void => terminal.progress(`${done} of ${manifest.parts} parts`);
  const restored = await restoreBackup(client, store, manifest, ends, progress);
  if (!restored.ok) return restored;
  const { at, objects, rows } = restored.value;
  if (json) terminal.out(JSON.stringify({ name, ...restored.value }));
  else {
    terminal.progress(null);
    terminal.out(`${name}: ${objects} objects, ${rows} rows are back as of ${at}; the server answers requests`);
    const warning =
      ends.issuedBefore === ""
        ? `What was revoked after ${at} is valid again: --issued-before now would have ended it. While the old server answers, restore --preview names it.`
        : `Root tokens are as they were at ${at}, also those that were revoked since: look at grove tokens --policy root.`;
    terminal.out(styled(terminal, "yellow", warning));
  }
  return ok(0);
}
