import { expect, it } from "vitest";
import type { AnswerDescription, RouteDescription } from "../../../src/auth/route-description.ts";
import { JWT_METHOD } from "../../../src/methods/jwt/method.ts";
import { isList, isOneOf, isOrNull, type Shape } from "../../../src/wire/view.ts";
import { ROUTES } from "../../support/routes.ts";

/** Lists and maps that read null while nothing is in them: the reference shows them so, and clients compare. */
const NULL_WHEN_EMPTY = [
  // Of a token. Recorded exchanges have it.
  "meta",
  // Of a mount: there is nothing to set.
  "options",
  // Of entities, groups and their aliases.
  "metadata",
  "custom_metadata",
  "merged_entity_ids",
  "merged_from_canonical_ids",
  // Of an external group, whose members come from logins: Terraform would treat an empty list as a change.
  "member_entity_ids",
  "member_group_ids",
  // The last run of tidy: not a setting, but something that may not have happened yet.
  "last",
  // The token whose request ended a token; null when the token expired.
  "by",
  // The token whose request started a job; null when a Worker without a token did.
  "asked_by",
  // Runs of backups into a bucket: they may not have happened yet.
  "last_good",
  "running",
];

/** Names of the lists and maps of a shape that can be null. */
function nullableNames(shape: Shape, name: string): string[] {
  if (typeof shape === "string") return /^(object|any) \| null$/.test(shape) ? [name] : [];
  if (isOneOf(shape)) return [];
  if (isOrNull(shape)) return [name, ...nullableNames(shape[1], name)];
  if (isList(shape)) return [...(shape.length === 2 ? [name] : []), ...nullableNames(shape[0], name)];
  return Object.entries(shape).flatMap(([inner, of]) => nullableNames(of, inner.replace(/\?$/, "")));
}

function answersOf({ answers }: RouteDescription): readonly AnswerDescription[] {
  if ("kind" in answers) return [answers];
  return Object.values(answers).flat();
}

// Every answer of a test is compared with its description, so one that was described as a list and is null fails there.
it("an empty list reads [] and an empty map {}, but for those that clients know as null", () => {
  const bodies = [...ROUTES, ...JWT_METHOD.routes].flatMap(({ description }) =>
    answersOf(description).flatMap((answer) =>
      answer.kind === "data" ? [answer.data] : answer.kind === "plain" ? [answer.body] : [],
    ),
  );
  expect(bodies.length).toBeGreaterThan(100);
  const found = new Set(bodies.flatMap((shape) => nullableNames(shape, "")));
  expect([...found].sort()).toEqual([...NULL_WHEN_EMPTY].sort());
});
