import { useEffect, useMemo, useState } from "preact/hooks";
import type { Names } from "./entity-names.ts";
import { useSession } from "./session.ts";

/** The known names by id. Ids whose names can't be read are absent. */
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

/** The names of entities by their ids. The ids of all components are read in one request. */
export const useEntityNames = (ids: readonly string[]): ReadonlyMap<string, string> =>
  useNames(useSession().entityNames, ids);

/** The name of a token; "" when not known. */
export const useTokenName = (accessor: string): string =>
  useNames(useSession().tokenNames, accessor === "" ? [] : [accessor]).get(accessor) ?? "";
