import { explanationOf } from "./explained.ts";
import type { Finding } from "./round.ts";

interface Group {
  readonly title: string;
  readonly findings: Finding[];
  /** null for a difference without an explanation. */
  readonly why: string | null;
}

/** The findings by request and place, most frequent first. */
export function groupFindings(findings: readonly Finding[]): Group[] {
  const groups = new Map<string, Group>();
  for (const finding of findings) {
    const why = explanationOf(finding);
    // Statuses differ for many reasons: what both said is part of the group. Values are grouped by their place alone.
    const said = finding.where === "status" ? `: ${finding.reference} | ${finding.tested}` : "";
    const title = `${finding.request}  ${finding.where}${said}`;
    const group = groups.get(`${why} ${title}`) ?? { title, findings: [], why };
    group.findings.push(finding);
    groups.set(`${why} ${title}`, group);
  }
  return [...groups.values()].sort((a, b) => b.findings.length - a.findings.length);
}

/** The report as text. @param all shows explained differences too. */
export function renderReport(requests: number, findings: readonly Finding[], all: boolean): string {
  const groups = groupFindings(findings);
  const open = groups.filter(({ why }) => why === null);
  const explained = groups.filter(({ why }) => why !== null);
  const count = (some: readonly Group[]) => some.reduce((sum, group) => sum + group.findings.length, 0);
  const shown = all ? [...open, ...explained] : open;
  return [
    ...shown.map(renderGroup),
    `${requests} requests to each server; ${count(open)} unexplained differences in ${open.length} groups, ${count(explained)} that docs/compatibility.md explains`,
  ].join("\n");
}

function renderGroup({ title, findings, why }: Group): string {
  const [example] = findings;
  if (!example) return title;
  const { ask, round, reference, tested } = example;
  const sent = [ask.method, ask.path, ...(ask.body === undefined ? [] : [JSON.stringify(ask.body)])].join(" ");
  return [
    `${findings.length} x ${title}`,
    ...(why === null ? [] : [`    explained: ${why}`]),
    `    round ${round}: ${sent}${ask.token === undefined ? "" : ` by ${ask.token}`}`,
    ...(example.where === "status" ? [] : [`    reference ${reference}`, `    tested    ${tested}`]),
    "",
  ].join("\n");
}
