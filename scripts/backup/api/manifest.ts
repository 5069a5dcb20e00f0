import * as z from "zod";

/** A part of a backup, as the server answers it. */
export const ANSWERED_PART = z.object({
  run: z.string(),
  number: z.number(),
  position: z.string(),
  next: z.string().nullable(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  seal: z.string(),
  restored_first: z.boolean(),
  objects: z.number(),
  rows: z.number(),
  content: z.string().nullable(),
});
export type AnsweredPart = z.infer<typeof ANSWERED_PART>;

/** A part in the manifest. Its content is a separate file. */
export const PART = ANSWERED_PART.omit({ content: true, run: true });
export type Part = z.infer<typeof PART>;

const PLAIN = /^[ -~]{1,100}$/;

/** The server's summary of a backup. */
export const HEAD = z.object({
  format: z.literal(1, "was made by a newer release"),
  run: z.string(),
  parts: z.number(),
  started_at: z.string().regex(PLAIN),
  finished_at: z.string(),
  // Printable ASCII only, as it is shown in a terminal.
  release: z.string().regex(PLAIN),
  cluster_id: z.string(),
  seal_key_version: z.number(),
  key_ring: z.string(),
  seal: z.string(),
});

export const MANIFEST = HEAD.extend({ files: z.array(PART) });
export type Manifest = z.infer<typeof MANIFEST>;

/** The first line of the notes of an unfinished run; a line for each part follows. */
export const RUN = z.object({ run: z.string(), cluster_id: z.string() });
export type Run = z.infer<typeof RUN>;

export const RECEIPT = z.object({ receipt: z.string() });

/** Objects and rows of these parts. */
export function sumOf(parts: readonly Part[]): { readonly objects: number; readonly rows: number } {
  const sum = (of: (part: Part) => number) => parts.reduce((total, part) => total + of(part), 0);
  return { objects: sum(({ objects }) => objects), rows: sum(({ rows }) => rows) };
}
