import * as z from "zod";
import { hasUnprintable } from "../../../base/name.ts";
import { TRIGGERS, type Trigger } from "../../../team/notices/rules.ts";

const MAX_TEXT = 255;
const TEXT = `must be a string of 1 to ${MAX_TEXT} characters`;
const LIST = `must be a list of ${TRIGGERS.join(", ")}`;

const CHANGES = {
  name: z
    .string(TEXT)
    .min(1, TEXT)
    .max(MAX_TEXT, TEXT)
    .refine((name) => !hasUnprintable(name), "must not hold control characters")
    .optional(),
  url: z.string("must be a string").optional(),
  token: z.string(TEXT).min(1, TEXT).max(MAX_TEXT, TEXT).nullable().optional(),
  enabled: z.boolean("must be true or false").optional(),
  triggers: z
    .array(z.string(LIST), LIST)
    .max(TRIGGERS.length, LIST)
    .transform((names, context): Trigger[] => {
      const triggers = TRIGGERS.filter((trigger) => names.includes(trigger));
      if (triggers.length < new Set(names).size) context.addIssue({ code: "custom", message: LIST });
      return triggers;
    })
    .optional(),
  "destination-type": z.literal("generic", "must be generic").optional(),
};

/** The attributes of a change: what is absent stays. */
export const WEBHOOK_CHANGE = z.object(CHANGES);
/** The attributes of a new webhook. */
export const NEW_WEBHOOK = z.object({ ...CHANGES, name: CHANGES.name.unwrap(), url: CHANGES.url.unwrap() });

/** The attributes of both, for the description of the API. */
export const WEBHOOK_FIELDS = {
  name: { shape: "string", description: "The name" },
  url: { shape: "string", description: "Where notices are sent to" },
  token: { shape: "string | null", description: "What notices are signed with; never shown" },
  enabled: { shape: "boolean", description: "True: it has to take a verification first" },
  triggers: { shape: ["string"], description: `What it is told of: ${TRIGGERS.join(", ")}` },
  "destination-type": { shape: "string", description: "`generic`" },
} as const;
