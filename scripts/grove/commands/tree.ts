import * as z from "zod";
import { ok } from "../../../src/base/result.ts";
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
} from "../answers.ts";
import { type Called, orMissing } from "../client.ts";
import { harmless, linesOfTree, type Node, type Session, styled, type Terminal } from "../terminal.ts";
import { countText, number, shortTime, tokenLabel } from "./token-lines.ts";

/** Shows all trees by mount, the largest of each. */
export async function showForest({ client, terminal, json }: Session): Promise<Called<number>> {
  const forest = await client.get("sys/tokens/map", FOREST);
  if (!forest.ok) return forest;
  if (json) terminal.out(JSON.stringify(forest.value));
  else for (const line of linesOfTree(forestNode(terminal, forest.value))) terminal.out(line);
  return ok(0);
}

function forestNode(terminal: Terminal, { groups, total }: Forest): Node {
  const ended = groups.flatMap(({ largest }) => largest).reduce((sum, tree) => sum + (tree.ended ? tree.count : 0), 0);
  const revoked = ended > 0 ? `, ${ended} of them revoked` : "";
  return {
    label: styled(terminal, "bold", number(total, "token") + revoked),
    children: groups.map(({ mount, count, trees, largest, rest }) => ({
      label: `${styled(terminal, "bold", harmless(mount))} ${number(count, "token")} in ${number(trees, "tree")}`,
      children: [
        ...largest.map(({ tree, root, count: size, ended: isEnded }) => {
          const label = root ? tokenLabel(terminal, root) : styled(terminal, "dim", `tree ${harmless(tree)}`);
          return leaf(`${size} ${label}${isEnded ? `  <- ${styled(terminal, "red", "revoked")}` : ""}`);
        }),
        ...(rest.trees > 0
          ? [leaf(styled(terminal, "dim", `${number(rest.trees, "more tree")} with ${number(rest.count, "token")}`))]
          : []),
      ],
    })),
  };
}

/** Shows a token with its ancestors and descendants; for an ended token, when and how it ended, and who asked for it. */
export async function showToken({ client, terminal, json }: Session, accessor: string): Promise<Called<number>> {
  const path = `sys/tokens/${encodeURIComponent(accessor)}`;
  const answered = await client.get(path, z.union([LINEAGE, ENDED_TOKEN]));
  const found = orMissing(answered, `no token has the accessor ${harmless(accessor)}, and none that ended lately had`);
  if (!found.ok) return found;
  if ("ended" in found.value) {
    terminal.out(json ? JSON.stringify(found.value) : endedLine(terminal, found.value));
    return ok(0);
  }
  const subtree = await client.get(`${path}/tree`, SUBTREE);
  if (!subtree.ok) return subtree;
  if (json) terminal.out(JSON.stringify({ ...found.value, ...subtree.value }));
  else for (const line of linesOfTree(lineageNode(terminal, found.value, subtree.value))) terminal.out(line);
  return ok(0);
}

function endedLine(terminal: Terminal, { token, ended }: EndedToken): string {
  const { at, how, by } = ended;
  const end = `ended ${shortTime(at)}: ${how}${by ? ` by ${by.display_name || "token"} ${by.accessor}` : ""}`;
  const others = ended.with > 0 ? `, with ${number(ended.with, "other")}` : "";
  return `${tokenLabel(terminal, token)}  <- ${styled(terminal, "red", harmless(end + others))}`;
}

function lineageNode(terminal: Terminal, lineage: Lineage, subtree: Subtree): Node {
  const { token, ancestors, ancestors_more, descendants, leases, cubbyhole } = lineage;
  const below = `with it would end: ${countText(descendants, "descendant")}, ${countText(leases, "lease")}, ${number(cubbyhole.values, "value")} in its cubbyhole`;
  const more = subtree.more ? [leaf(styled(terminal, "dim", "more that is not shown"))] : [];
  const own: Node = {
    label: `${tokenLabel(terminal, token)}  <- ${styled(terminal, "yellow", below)}`,
    children: [...subtree.children.map((child) => branchNode(terminal, child)), ...more],
  };
  const chain = ancestors.reduceRight<Node>(
    (child, ancestor) => ({ label: tokenLabel(terminal, ancestor), children: [child] }),
    own,
  );
  return ancestors_more ? { label: styled(terminal, "dim", "older ancestors"), children: [chain] } : chain;
}

function branchNode(terminal: Terminal, { token, descendants, children = [] }: Branch): Node {
  const hidden = descendants && children.length === 0 && descendants.count > 0;
  const label = tokenLabel(terminal, token) + (hidden ? ` (${countText(descendants, "descendant")})` : "");
  return { label, children: children.map((child) => branchNode(terminal, child)) };
}

function leaf(label: string): Node {
  return { label, children: [] };
}
