import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
import { asCalled } from "../../local/command-line.ts";
import {
  type Branch,
  ENDED_TOKEN,
  type EndedToken,
  FOREST,
  type Forest,
  LINEAGE,
  type Lineage,
  SUBTREE,
  type Subtree,
} from "../answer-schemas.ts";
import { type Called, orMissing } from "../client.ts";
import { nothingIs } from "../id-formats.ts";
import { flow, type Part } from "../prose.ts";
import { harmless, type Session, type Terminal } from "../terminal.ts";
import { linesOfTree, type Node } from "../tree-lines.ts";
import { askerText, countText, number, shortTime, tokenLabel } from "./token-lines.ts";

/** Shows all trees by mount, the largest of each. */
export async function showForest({ client, terminal, json }: Session): Promise<Called<number>> {
  const forest = await client.get("sys/tokens/map", FOREST);
  if (!forest.ok) return forest;
  if (json) terminal.out(JSON.stringify(forest.value));
  else for (const line of linesOfTree(terminal, forestNode(terminal, forest.value))) terminal.out(line);
  return ok(0);
}

/** All numbers are of trees. A tree counts for the mount of its first token, whatever issued its other tokens. */
function forestNode(terminal: Terminal, { groups, total }: Forest): Node {
  const ended = groups.flatMap(({ largest }) => largest).reduce((sum, tree) => sum + (tree.ended ? tree.count : 0), 0);
  const trees = groups.reduce((sum, group) => sum + group.trees, 0);
  const about = ended > 0 ? `, ${ended} of them revoked` : "";
  return {
    label: [
      { text: `${number(total, "token")} in ${number(trees, "tree")}${about};`, style: "bold" },
      { text: "each tree counts where its first token was issued" },
    ],
    // A mount may have issued only tokens in trees of other mounts.
    children: groups.filter((group) => group.trees > 0).map((group) => mountNode(terminal, group)),
  };
}

function mountNode(terminal: Terminal, { mount, trees, largest, rest }: Forest["groups"][number]): Node {
  const about = rest.estimated ? "about " : "";
  const count = rest.count + largest.reduce((sum, tree) => sum + tree.count, 0);
  const more = `${about}${number(rest.count, "token")} in ${number(rest.trees, largest.length > 0 ? "more tree" : "tree")}`;
  return {
    label: [
      { text: harmless(mount), style: "bold" },
      { text: `${about}${number(count, "token")} in ${number(trees, "tree")}` },
    ],
    children: [
      ...largest.map(({ tree, root, count: size, ended }) => {
        const label = root ? tokenLabel(terminal, root) : [{ text: `tree ${harmless(tree)}`, style: "dim" } as const];
        const end: Part[] = ended ? [{ text: "<- revoked", style: "red" }] : [];
        return leaf({ text: `${number(size, "token")}:` }, ...label, ...end);
      }),
      ...(rest.trees > 0 ? [leaf({ text: more, style: "dim" })] : []),
    ],
  };
}

/** Shows a token with its ancestors and descendants; for an ended token, when and how it ended, and who revoked it. */
export async function showToken({ client, terminal, json }: Session, accessor: string): Promise<Called<number>> {
  const path = `sys/tokens/${encodeURIComponent(accessor)}`;
  const answered = await client.get(path, z.union([LINEAGE, ENDED_TOKEN]));
  const found = orMissing(answered, nothingIs("accessor", accessor));
  if (!found.ok) return found;
  if ("ended" in found.value) {
    if (json) terminal.out(JSON.stringify(found.value));
    else for (const line of flow(terminal, endedLabel(terminal, found.value), terminal.columns)) terminal.out(line);
    return ok(0);
  }
  const subtree = await client.get(`${path}/tree`, SUBTREE);
  if (!subtree.ok) return subtree;
  if (json) terminal.out(JSON.stringify({ ...found.value, ...subtree.value }));
  else for (const line of linesOfTree(terminal, lineageNode(terminal, found.value, subtree.value))) terminal.out(line);
  return ok(0);
}

function endedLabel(terminal: Terminal, { token, ended }: EndedToken): Part[] {
  const { at, how, by } = ended;
  const end = `ended ${shortTime(at)}: ${how}${by ? ` by ${askerText(by)}` : ""}`;
  const others = ended.with > 0 ? `, with ${number(ended.with, "other")}` : "";
  return [...tokenLabel(terminal, token), { text: "<-" }, { text: harmless(end + others), style: "red" }];
}

function lineageNode(terminal: Terminal, lineage: Lineage, subtree: Subtree): Node {
  const { token, ancestors, ancestors_more, descendants, leases, cubbyhole } = lineage;
  const below = `with it would end: ${countText(descendants, "descendant")}, ${countText(leases, "lease")}, ${number(cubbyhole.values, "value")} in its cubbyhole`;
  const hidden = descendants.count - subtree.children.reduce((sum, child) => sum + sizeOf(child), 0);
  const count = descendants.more ? `more than ${hidden}` : String(hidden);
  const how =
    token.tree === undefined ? "" : `: ${asCalled(`tokens --tree ${harmless(token.tree)} --limit 0`)} lists its tree`;
  const more = subtree.more ? [leaf({ text: `${count} others below it are not shown${how}`, style: "dim" })] : [];
  const own: Node = {
    label: [...tokenLabel(terminal, token), { text: "<-" }, { text: below, style: "yellow" }],
    children: [...subtree.children.map((child) => branchNode(terminal, child)), ...more],
  };
  const chain = ancestors.reduceRight<Node>(
    (child, ancestor) => ({ label: tokenLabel(terminal, ancestor), children: [child] }),
    own,
  );
  return ancestors_more ? { label: [{ text: "older ancestors", style: "dim" }], children: [chain] } : chain;
}

/** Tokens of a branch that are in the answer. */
function sizeOf({ children = [] }: Branch): number {
  return children.reduce((sum, child) => sum + sizeOf(child), 1);
}

function branchNode(terminal: Terminal, { token, descendants, children = [] }: Branch): Node {
  const hidden = descendants && children.length === 0 && descendants.count > 0;
  const below = hidden ? [{ text: `(${countText(descendants, "descendant")})` }] : [];
  return {
    label: [...tokenLabel(terminal, token), ...below],
    children: children.map((child) => branchNode(terminal, child)),
  };
}

function leaf(...label: readonly Part[]): Node {
  return { label, children: [] };
}
