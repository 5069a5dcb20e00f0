import { useState } from "preact/hooks";
import { href } from "../href.ts";
import { CapabilityCheck } from "../policies/capability-check.tsx";
import { Editor, endpointOf } from "../policies/editor.tsx";
import { Confirm } from "../records/confirm.tsx";
import { go } from "../router.ts";
import { useSession } from "../session.ts";
import { Field } from "../ui/controls.tsx";
import { ProblemNotice } from "../ui/notice.tsx";
import { PageHead } from "../ui/page-head.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../ui/use-load.ts";

interface StoredPolicy {
  readonly name: string;
  readonly policy: string;
  readonly version?: number;
  readonly modified?: string;
}

/** These can't be changed. */
const FIXED = new Set(["root", "response-wrapping"]);
const EXAMPLE = `path "cubbyhole/notes/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}
`;

/** One policy to read and change. */
export function PolicyPage({ name }: { readonly name: string }) {
  const { api } = useSession();
  const policy = useLoad(name, () => api.read<StoredPolicy>(endpointOf(name)));
  const [asking, setAsking] = useState(false);
  const [typed, setTyped] = useState<string | null>(null);
  const value = policy.value;
  const isFixed = FIXED.has(name);
  return (
    <>
      <PageHead
        title={name}
        text={
          value?.modified !== undefined &&
          Date.parse(value.modified) > 0 && (
            <>
              Changed <Time at={value.modified} both />
            </>
          )
        }
      >
        <a class="button" href={href(["tokens"], { policy: name })}>
          Tokens with it
        </a>
        {!isFixed && name !== "default" && (
          <button type="button" class="button danger" onClick={() => setAsking(true)}>
            Delete…
          </button>
        )}
      </PageHead>
      {policy.problem && <ProblemNotice problem={policy.problem} onRetry={policy.reload} />}
      <div class="columns">
        {value && (
          <Editor
            key={name}
            name={name}
            text={value.policy}
            isFixed={isFixed}
            onTyped={setTyped}
            onSaved={policy.reload}
          />
        )}
        {name === "root" ? <CapabilityCheck /> : value && <CapabilityCheck policy={typed ?? value.policy} />}
      </div>
      {asking && (
        <Confirm
          title={`Delete ${name}`}
          typing=""
          action="Delete"
          send={() => api.call(endpointOf(name), { method: "DELETE" })}
          onDone={() => go(href(["policies"]))}
          onClose={() => setAsking(false)}
        >
          <p>Tokens that have this policy lose what it grants, within seconds. They stay.</p>
        </Confirm>
      )}
    </>
  );
}

/** A policy that is not there yet. */
export function NewPolicyPage() {
  const [name, setName] = useState("");
  const [typed, setTyped] = useState(EXAMPLE);
  return (
    <>
      <PageHead title="New policy" />
      <div class="columns">
        <div class="stack">
          <Field label="Name">
            <input
              value={name}
              onInput={(event) => setName(event.currentTarget.value.trim())}
              autocomplete="off"
              spellcheck={false}
            />
          </Field>
          <Editor
            name={name}
            text={EXAMPLE}
            isNew
            onTyped={setTyped}
            onSaved={() => go(href(["policies", name.toLowerCase()]), "replace")}
          />
        </div>
        <CapabilityCheck policy={typed} />
      </div>
    </>
  );
}
