import { useSession } from "../session.ts";
import { MOST_NAMED } from "../tokens/selection.ts";
import { listEnded } from "../tokens/token-api.ts";
import { downloadJson, ProblemNotice } from "../ui/index.ts";
import { ExportButton } from "./export-button.tsx";
import type { KnownRevocation } from "./read-revocation.ts";
import { useAllPages } from "./use-all-pages.ts";
import { wholeEnded } from "./whole-receipt.ts";

/** Exports who asked, and the accessors of all ended tokens, to a file. */
export function ExportRevocation({ own }: { readonly own: KnownRevocation }) {
  const { api } = useSession();
  const { request_id: request, asked_by: by, time, answered, created_before: before, entity_id: entity, prefix } = own;
  const file = useAllPages(
    (progress) => wholeEnded((after) => listEnded(api, { request_id: request, after, limit: MOST_NAMED }), progress),
    ({ tokens, next }) => {
      const accessors = tokens.map(({ token }) => token.accessor);
      const whole = {
        entity_id: entity,
        prefix,
        request_id: request,
        asked_by: by,
        time: answered ?? time,
        created_before: before,
      };
      downloadJson(`ended-${request}.json`, { ...whole, numbers: { total: accessors.length }, accessors, next });
    },
  );
  return (
    <>
      {file.problem && <ProblemNotice problem={file.problem} />}
      <ExportButton walk={file} />
    </>
  );
}
