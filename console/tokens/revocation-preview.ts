import type { RevocationJob, Token } from "../../client/answers.d.ts";
import { count, counted } from "../format.ts";

export type Group = Preview["by"]["mount"][number];

/** The tokens that a revocation would end. If a job counted them, there is no sample. */
export type Preview = NonNullable<RevocationJob["preview"]> & { readonly sample?: readonly Token[] };

/** Most groups in one line. */
const NAMED = 5;

/**
 * The largest groups: `1,100 deploy, 68 without a role, 12 of other roles`. Null when the only group has no name.
 *
 * @param noun the name of the grouping in singular and plural
 */
export function groupsText(
  groups: readonly Group[],
  total: number,
  [one, many]: readonly [one: string, many: string],
): string | null {
  if (groups.every(({ key }) => key === "")) return null;
  const named = groups.slice(0, NAMED);
  const rest = total - named.reduce((sum, group) => sum + group.count, 0);
  const parts = named.map(({ key, count: size }) => `${count(size)} ${key === "" ? `without ${one}` : key}`);
  const others = `of other ${many}${named.some(({ key }) => key === "") ? "" : ` or without ${one}`}`;
  return [...parts, ...(rest > 0 ? [`${count(rest)} ${others}`] : [])].join(", ");
}

/** Ids of entities. The owner of a token is its entity when its metadata has no owner. */
const ENTITY_ID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The owners that are entities. */
export const entitiesIn = ({ by }: Pick<Preview, "by">): readonly string[] =>
  by.owner.map(({ key }) => key).filter((key) => ENTITY_ID.test(key));

/** The groupings of the ending tokens, with labels and nouns. */
const GROUPINGS = [
  ["type", "By type", ["a type", "types"]],
  ["owner", "By owner or entity", ["an owner or entity", "owners"]],
  ["role", "By role", ["a role", "roles"]],
  ["mount", "By method", ["a method", "methods"]],
] as const;

/**
 * The groups of the ending tokens, by their labels, for the preview and for the receipt.
 *
 * @param owners names of owners that are entities, by their ids
 */
export const groupRows = (
  { by, total }: Pick<Preview, "by" | "total">,
  owners: ReadonlyMap<string, string> = new Map(),
): Readonly<Record<string, string>> =>
  Object.fromEntries(
    GROUPINGS.flatMap(([name, label, noun]) => {
      const named = by[name].map(({ key, count: size }) => ({
        key: (name === "owner" ? owners.get(key) : undefined) ?? key,
        count: size,
      }));
      const text = groupsText(named, total, noun);
      return text === null ? [] : [[label, text] as const];
    }),
  );

/**
 * The progress or the result of a revocation: `3 of 4 tokens ended: 3 of the 4 that matched, with everything below, 1
 * had ended already`. A token that had ended already matches a filter, but it does not match when it was selected itself.
 */
export function jobText({ state, total, preview, counted: soFar, matched, revoked, ...job }: RevocationJob): string {
  if (state === "counting") return `Counting: ${counted(soFar, "token")} so far`;
  const of = preview ? ` of ${counted(preview.total, "token")}` : "";
  const ofMatched = revoked === matched ? "" : ` of the ${count(matched ?? 0)}`;
  return [
    `${count(total)}${of} ended: ${count(revoked)}${ofMatched} that matched, with everything below`,
    ...(job.ended_before > 0 ? [`${count(job.ended_before)} had ended already`] : []),
    ...(job.mismatched > 0 ? [`${count(job.mismatched)} are not what the list says of them`] : []),
  ].join(", ");
}

/** True for a stopped job that still finishes its step. */
export const isStopping = ({ state, finished }: Pick<RevocationJob, "state" | "finished">): boolean =>
  state === "stopped" && finished === null;

/** True while the numbers of a job may grow. */
export const isUnderWay = ({ finished }: Pick<RevocationJob, "finished">): boolean => finished === null;

/** The progress of a revocation (percent). */
export const percentOf = ({ total, preview }: RevocationJob): number =>
  preview && preview.total > 0 ? Math.min(100, (100 * total) / preview.total) : 0;
