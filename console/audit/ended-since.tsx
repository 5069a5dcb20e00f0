import type { StoredPolicy } from "../../client/answers.d.ts";
import type { Api } from "../api.ts";
import { pathOf } from "../href.ts";
import { type Answer, done } from "../result.ts";
import { useSession } from "../session.ts";
import { Policies } from "../tokens/links.tsx";
import { Notice, ProblemNotice, Tags, useLoad } from "../ui/index.ts";
import type { AuditEvent } from "./event.ts";

interface Granted {
  readonly capabilities: readonly string[];
  /** Policies that were deleted, or that can't be read. */
  readonly missing: readonly string[];
}

/**
 * What the policies of an ended token grant on a path now. The server explains access only for tokens that are alive,
 * so it is asked about the texts of the policies.
 */
async function grantedOn(api: Api, path: string, policies: readonly string[]): Promise<Answer<Granted>> {
  if (policies.includes("root")) return done({ capabilities: ["root"], missing: [] });
  const texts = await Promise.all(
    policies.map(async (name) => {
      const answer = await api.read<StoredPolicy>(`sys/policies/acl/${pathOf(name)}`);
      return [name, answer.ok ? answer.value.policy : null] as const;
    }),
  );
  const missing = texts.filter(([, text]) => text === null).map(([name]) => name);
  const policy = texts.map(([, text]) => text ?? "").join("\n");
  if (policy.trim() === "") return done({ capabilities: [], missing });
  const answer = await api.call<Readonly<Record<string, readonly string[]>>>("sys/capabilities-policy", {
    body: { paths: [path], policy },
  });
  return answer.ok ? done({ capabilities: answer.value.data[path] ?? [], missing }) : answer;
}

/** Why a request of a token that has ended since was refused: what the token's policies grant on the path now. */
export function EndedSince({ event }: { readonly event: AuditEvent }) {
  const { api } = useSession();
  const { path = "", operation = "", auth } = event;
  const policies = auth?.policies ?? [];
  const granted = useLoad(JSON.stringify([path, policies]), () => grantedOn(api, path, policies));
  if (granted.problem) return <ProblemNotice problem={granted.problem} onRetry={granted.reload} />;
  if (!granted.value) return <p class="muted">Loading…</p>;
  const { capabilities, missing } = granted.value;
  const nothing = capabilities.length === 0 || capabilities.includes("deny");
  return (
    <Notice tone="warn" title={`The policies that it had grant ${nothing ? "nothing" : capabilities.join(", ")} there`}>
      <p>
        It asked for <code>{operation}</code> of <code>{path}</code>. The token has ended since, so this is what its own
        policies say now:
      </p>
      <Policies names={policies} most={30} />
      {missing.length > 0 && (
        <p class="small">
          Not stored any more, or not to be read: <Tags names={missing} most={30} />
        </p>
      )}
    </Notice>
  );
}
