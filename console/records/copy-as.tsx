import { useState } from "preact/hooks";
import { Copy, Segments } from "../ui/index.ts";
import type { Field, RecordValue } from "./field.ts";
import { baoCommand, curlCommand, type FormRequest, type TerraformRecord, terraformText } from "./request-commands.ts";

interface CopyAsProps {
  /** null while a field has a mistake. */
  readonly values: RecordValue | null;
  readonly request: (values: RecordValue) => FormRequest;
  readonly fields: readonly Field[];
  /** Absent when the providers have no such resource. */
  readonly terraform?: TerraformRecord | undefined;
}

type Tool = "bao" | "curl" | "Terraform";

/** The values of a form as a command or a Terraform resource, without a token, and with placeholders for secrets. */
export function CopyAs({ values, request, fields, terraform }: CopyAsProps) {
  const [open, setOpen] = useState(false);
  const [tool, setTool] = useState<Tool>("bao");
  const sent = values && open ? request(values) : null;
  const texts: Readonly<Record<Tool, string | null>> = {
    bao: sent && baoCommand(sent),
    curl: sent && curlCommand(sent),
    Terraform: values && open && terraform ? terraformText(terraform, fields, values) : null,
  };
  const tools = (["bao", "curl", "Terraform"] as const).filter((one) => texts[one] !== null);
  const shown = texts[tool] === null ? (tools[0] ?? "curl") : tool;
  return (
    <details class="copy-as" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a command</summary>
      {open && values === null && <p class="small muted">Not while a field has a mistake.</p>}
      {texts[shown] !== null && (
        <div class="stack tight">
          <Segments legend="For" options={tools.map((one) => [one, one] as const)} value={shown} onChange={setTool} />
          <Copy value={texts[shown]} label={`For ${shown}`} />
        </div>
      )}
    </details>
  );
}
