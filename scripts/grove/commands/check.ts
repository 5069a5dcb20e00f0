import type * as Api from "../../../client/answers.d.ts";

/** One check with its result, in the form of `sys/doctor`. */
export type Check = Api.Doctor["checks"][number];

const check =
  (state: string) =>
  (name: string, title: string, seen: string, advice = "", link = ""): Check => ({
    name,
    title,
    state,
    seen,
    advice,
    link,
  });
export const fine = check("ok");
export const attention = check("attention");
export const failing = check("failing");
export const unknown = check("unknown");
