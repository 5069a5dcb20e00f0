import { ok } from "../../../src/base/result.ts";
import type { Called } from "../client.ts";
import { renderTable } from "../layout.ts";
import { harmless, type Session, type Style, styled } from "../terminal.ts";
import { CHECKS, type Finding } from "./doctor-checks.ts";

const STYLES: Readonly<Record<Finding["state"], Style>> = { ok: "green", note: "yellow", fault: "red", skipped: "dim" };

/** Runs the checks and shows their results. The exit code is 1 when one finds a fault. */
export async function examine({ client, terminal, json }: Session): Promise<Called<number>> {
  const findings: (Finding & { readonly about: string })[] = [];
  for (const { about, check } of CHECKS) {
    terminal.progress(about);
    findings.push({ about, ...(await check(client)) });
    terminal.progress(null);
    // Without an answer to the first check the others have none either.
    if (findings.length === 1 && findings[0]?.state === "fault") break;
  }
  if (json) terminal.out(JSON.stringify(findings));
  else {
    const rows = findings.map(({ state, about, text }) => [state, about, harmless(text)]);
    const [head = "", ...lines] = renderTable(terminal, ["", "ABOUT", ""], rows);
    terminal.out(head);
    lines.forEach((line, at) => {
      const { state } = findings[at] ?? { state: "ok" };
      terminal.out(styled(terminal, STYLES[state], line.slice(0, state.length)) + line.slice(state.length));
    });
  }
  return ok(findings.some(({ state }) => state === "fault") ? 1 : 0);
}
