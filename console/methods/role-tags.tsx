import { useState } from "preact/hooks";
import type { RoleTag as Tag } from "../../client/answers.d.ts";
import { RecordForm } from "../records/record-form.tsx";
import { Card, Copy } from "../ui/index.ts";
import { ROLE_TAG } from "./cloud-parts.ts";

interface RoleTagsProps {
  /** The endpoint that makes role tags. */
  readonly path: string;
  /** The key of the tag that narrows the role; "" for none. */
  readonly keyOfTag: string;
}

/** Makes the value of a tag that narrows a role for the instance that has it. */
export function RoleTags({ path, keyOfTag }: RoleTagsProps) {
  const [tag, setTag] = useState<Tag | null>(null);
  return (
    <Card title="Role tags" body>
      {keyOfTag === "" ? (
        <p class="muted">
          A tag on an instance can narrow the role for it. Name the key of the tag in the role first, and save it.
        </p>
      ) : (
        <>
          <p class="muted">
            The value for the tag <code>{keyOfTag}</code> of an instance. It is kept nowhere: who sets the tag can do no
            more than what stands here.
          </p>
          <RecordForm
            groups={ROLE_TAG}
            record={null}
            action="Make the tag"
            request={(body) => ({ path, body })}
            onSaved={(_, made: Tag) => setTag(made)}
          />
          {tag && <Copy value={tag.tag_value} label="Value of the tag" />}
        </>
      )}
    </Card>
  );
}
