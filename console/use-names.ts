import { useEffect, useMemo, useState } from "preact/hooks";
import type { Names } from "./entity-names.ts";
import { useSession } from "./session.ts";

/** The names of these, by id, as they are known; those that can't be read are not in it. */
function useNames(names: Names, ids: readonly string[]): ReadonlyMap<string, string> {
  const [drawn, draw] = useState(0);
  const key = ids.join();
  useEffect(() => {
    if (key === "") return;
    let isShown = true;
    names.ask(key.split(",")).then(() => {
      if (isShown) draw((before) => before + 1);
    });
    return () => {
      isShown = false;
    };
  }, [names, key]);
  return useMemo(() => {
    const known = key.split(",").map((id) => [id, names.of(id) ?? ""] as const);
    return new Map(known.filter(([, name]) => name !== ""));
  }, [names, key, drawn]);
}

/** The names of entities by their ids, read in one call for all that the page asks about. */
export const useEntityNames = (ids: readonly string[]): ReadonlyMap<string, string> =>
  useNames(useSession().entityNames, ids);

/** The name of a token; "" when it is not known. */
export const useTokenName = (accessor: string): string =>
  useNames(useSession().tokenNames, accessor === "" ? [] : [accessor]).get(accessor) ?? "";
