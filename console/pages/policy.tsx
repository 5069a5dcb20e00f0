import { useState } from "preact/hooks";
import type { PolicyVersion, StoredPolicy } from "../../client/answers.d.ts";
import { href } from "../href.ts";
import { needsOf } from "../needed-capabilities.ts";
import { CapabilityCheck } from "../policies/capability-check.tsx";
import { Editor } from "../policies/editor.tsx";
import { endpointOf, isConflict } from "../policies/policy-endpoint.ts";
import { PolicyUsage } from "../policies/usage.tsx";
import { PolicyVersions } from "../policies/versions.tsx";
import { Confirm } from "../records/confirm.tsx";
import { failed } from "../result.ts";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { AllowedButton, Card, Loading, PageHead, Time, useLoad } from "../ui/index.ts";
import { dropUnsaved } from "../unsaved-policy.ts";

/** Policies that can't be changed. */
const FIXED = new Set(["root", "response-wrapping"]);
const EXAMPLE = `path "cubbyhole/notes/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}
`;
/** A policy that does not exist yet. The version -1 makes its first write create it. */
const NEW: StoredPolicy = {
  name: "",
  policy: EXAMPLE,
  version: -1,
  modified: "",
  cas_required: false,
  allow_slashes_in_identity_templates: false,
  allow_wildcards_in_identity_templates: false,
};

/** One policy, which can be changed. */
export function PolicyPage({ name }: { readonly name: string }) {
  const { api } = useSession();
  const policy = useLoad(name, () => api.read<StoredPolicy>(endpointOf(name)));
  const [asking, setAsking] = useState<{ readonly version: number | undefined } | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const [restored, setRestored] = useState<PolicyVersion | null>(null);
  const value = policy.value;
  const isFixed = FIXED.has(name);
  const remove = async (version: number | undefined) => {
    const answer = await api.call(endpointOf(name), { method: "DELETE", query: { cas: version } });
    if (answer.ok || !isConflict(answer.problem)) return answer;
    policy.reload();
    return failed({
      ...answer.problem,
      messages: ["It was changed meanwhile: look at it again before you delete it."],
    });
  };
  return (
    <>
      <PageHead
        title={name}
        text={
          value?.modified !== undefined &&
          Date.parse(value.modified) > 0 && (
            <>
              Version {value.version}, changed <Time at={value.modified} both />
            </>
          )
        }
      >
        <a class="button" href={href(["tokens"], { policy: name })}>
          Tokens with it
        </a>
        {!isFixed && name !== "default" && (
          <AllowedButton
            look="button danger"
            needs={needsOf(endpointOf(name), "DELETE")}
            onClick={() => setAsking({ version: value?.version })}
          >
            Delete…
          </AllowedButton>
        )}
      </PageHead>
      <Loading of={policy} />
      <div class="stack">
        <div class="columns">
          {value && (
            <Editor
              key={name}
              name={name}
              policy={value}
              isFixed={isFixed}
              restored={restored}
              onTyped={setTyped}
              onSaved={(written) => {
                policy.replace(written);
                policy.reload();
              }}
              onOvertaken={policy.reload}
            />
          )}
          <div class="stack">
            {value && (
              <Card title="Who has it" body>
                <PolicyUsage name={name} />
              </Card>
            )}
            {name === "root" ? <CapabilityCheck /> : value && <CapabilityCheck policy={typed ?? value.policy} />}
          </div>
        </div>
        {value && !isFixed && (
          <PolicyVersions
            key={name}
            name={name}
            current={value}
            isUnsaved={typed !== null && typed !== value.policy}
            onRestore={(version) => setRestored({ ...version })}
          />
        )}
      </div>
      {asking && (
        <Confirm
          title={`Delete ${name}`}
          typing={name}
          action="Delete"
          send={() => remove(asking.version)}
          onDone={() => {
            dropUnsaved(name);
            go(href(["policies"]));
          }}
          onClose={() => setAsking(null)}
        >
          <p>
            Tokens that have this policy lose what it grants, within seconds. They stay. Its earlier versions are
            deleted with it.
          </p>
          <PolicyUsage name={name} />
        </Confirm>
      )}
    </>
  );
}

/** A new policy. */
export function NewPolicyPage() {
  const [name, setName] = useState("");
  const [typed, setTyped] = useState(EXAMPLE);
  return (
    <>
      <PageHead title="New policy" />
      <div class="columns">
        <Editor
          name={name}
          policy={NEW}
          onName={setName}
          onTyped={setTyped}
          onSaved={() => go(href(["policies", name.toLowerCase()]), "replace")}
        />
        <CapabilityCheck policy={typed} />
      </div>
    </>
  );
}
