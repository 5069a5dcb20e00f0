import type { Token, TokenMap } from "../../client/answers.d.ts";
import { counted } from "../format.ts";
import { href } from "../href.ts";
import type { Amount } from "../tokens/amount.ts";
import { distinctNames } from "../tokens/distinct-names.ts";
import { isBeingRevoked } from "../tokens/recent-revocations.ts";
import { nameOf } from "../tokens/token-name.ts";

export type MountGroup = TokenMap["groups"][number];

/** Trees whose first tokens have the same value of the grouping, with all of their tokens. */
export type TreeGroup = NonNullable<MountGroup["by_group"]>[number];

/** Tokens that the server counts without naming them. The number is an estimate when some counters have no mount. */
type Rest = MountGroup["rest"];

/** A token with two levels below it. */
export interface Branch {
  readonly token: Token;
  readonly descendants?: Amount;
  readonly children?: readonly Branch[];
}

/** The content of one area of the map. */
export interface Item {
  readonly key: string;
  readonly name: string;
  readonly count: number;
  /** The content of a frame. */
  readonly items?: readonly Item[];
  /** The token of this area, or the first token of its tree. */
  readonly token: Token | null;
  readonly mount: string;
  /** The address that a click opens. */
  readonly opens: string;
  /** The key of the group of this area. Its display name may differ: an entity is shown by its name. */
  readonly group?: string;
  /** The named trees of one group that are drawn as one area. */
  readonly joined?: readonly Item[];
  /** Number of those trees, with the ones that are not named. */
  readonly trees?: number;
  /** Set for an area that stands for many trees or branches. */
  readonly rest?: Rest;
}

/**
 * The items of the whole forest. The area of a mount is as large as the trees that its logins began, whichever way their
 * other tokens were made.
 */
export function itemsOfMap({ groups }: TokenMap): readonly Item[] {
  return groups.map((group) => {
    const items = itemsOfGroup(group);
    const { mount } = group;
    return { key: mount, name: mount, count: sumOf(items), token: null, mount, opens: href([], { mount }), items };
  });
}

/** The sum of the items' tokens. */
export const sumOf = (items: readonly Item[]): number => items.reduce((sum, { count }) => sum + count, 0);

function itemsOfGroup(group: MountGroup): readonly Item[] {
  const { mount, rest } = group;
  const trees = treeItems(group);
  return rest.count === 0 ? trees : [...trees, restItem({ key: mount, mount, token: null }, rest)];
}

/** The trees of a mount that the server named. */
export function treeItems({ mount, largest }: MountGroup): readonly Item[] {
  const names = distinctNames(largest.map(({ root }) => root));
  return largest.map(({ tree, root, count }) => {
    const opens = openingOf(root, count > 1);
    return { key: tree, name: names.get(root.accessor) ?? nameOf(root), count, token: root, mount, opens };
  });
}

/** The number of trees in an area. */
export const treesIn = ({ trees, joined, rest }: Item): number => trees ?? joined?.length ?? rest?.trees ?? 1;

/** One area for everything in a frame that is too small or too numerous to be named. */
export function restItem({ key, mount, token }: Pick<Item, "key" | "mount" | "token">, rest: Rest): Item {
  const { trees, count } = rest;
  const noun = count === trees ? "single token" : token ? "smaller branch" : "smaller tree";
  return {
    key: `${key} rest`,
    name: counted(trees, noun, token && count !== trees ? "smaller branches" : `${noun}s`),
    count,
    token: null,
    mount,
    opens: token ? href(["tokens", token.accessor]) : href(["tokens"], { mount, orphan: "true" }),
    rest,
  };
}

/** A token with descendants opens as a map, any other as its page. */
const openingOf = ({ accessor }: Token, hasOthersBelow: boolean): string =>
  hasOthersBelow ? href([], { token: accessor }) : href(["tokens", accessor]);

/** The items of a branch: its children and grandchildren. */
export function itemsOfBranch({ children = [] }: Branch): readonly Item[] {
  const names = distinctNames(children.map(({ token }) => token));
  return children.map((child) => itemOfBranch(child, names.get(child.token.accessor)));
}

function itemOfBranch({ token, descendants, children = [] }: Branch, name = nameOf(token)): Item {
  const below = itemsOfBranch({ token, children });
  const own = 1 + (descendants?.count ?? token.children);
  return {
    key: token.accessor,
    name,
    count: Math.max(
      own,
      below.reduce((sum, { count }) => sum + count, 1),
    ),
    token,
    mount: token.mount,
    opens: openingOf(token, below.length > 0 || token.children > 0),
    ...(below.length > 0 && { items: below }),
  };
}

/** The number of tokens in areas that were revoked and not swept yet. */
export const goingIn = (items: readonly Item[]): number =>
  items.reduce((sum, item) => sum + (goes(item) ? item.count : goingIn(item.items ?? item.joined ?? [])), 0);

/** True when all of an area was revoked. */
export const goes = (item: Item, isRevoked = isBeingRevoked): boolean =>
  isRevoked(item.token) || (item.joined?.length === treesIn(item) && item.joined.every((one) => goes(one, isRevoked)));
