import type { AuthMounts } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { PRESETS } from "../presets/presets.ts";
import { SetUp } from "../presets/set-up.tsx";
import { done } from "../result.ts";
import { useSession } from "../session.ts";
import { Card, Copy, Loading, PageHead, UnknownValues, unknownIn, useLoad } from "../ui/index.ts";

/** Sets up a login from scratch: the kind of client, a short form, the texts, and the check. */
export function SetUpLoginPage({ query }: { readonly query: URLSearchParams }) {
  const { api } = useSession();
  const preset = PRESETS.find(({ id }) => id === query.get("setup"));
  const existing = useLoad(`existing ${preset?.id}`, async () => {
    const [mounts, policies] = await Promise.all([api.read<AuthMounts>("sys/auth"), api.list("sys/policies/acl")]);
    if (!mounts.ok) return mounts;
    if (!policies.ok) return policies;
    const types = Object.entries(mounts.value).map(([path, { type }]) => [path, type] as const);
    return done({ mounts: Object.fromEntries(types), policies: policies.value });
  });
  return (
    <>
      <PageHead
        title="Set up a login"
        text={preset?.text ?? "For people, and for machines that can prove who they are: no secret is given to them."}
      />
      <UnknownValues names={unknownIn(query, { setup: PRESETS.map(({ id }) => id) })} />
      <nav class="presets" aria-label="Who logs in">
        {PRESETS.map(({ id, title }) => (
          <a
            key={id}
            class="button"
            href={href(["methods"], { setup: id })}
            aria-current={id === preset?.id ? "true" : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <Loading of={existing} />
      {preset && (
        <div class="stack" key={preset.id}>
          {preset.first && (
            <Card title={preset.first.title} body>
              <Copy value={preset.first.text} label={preset.first.title} />
            </Card>
          )}
          {existing.value && <SetUp preset={preset} existing={existing.value} onSent={existing.reload} />}
        </div>
      )}
    </>
  );
}
