import { type Route, tokenRoute } from "../../../auth/route.ts";
import { dataAnswer } from "../../../auth/route-description.ts";
import { ok, refuse } from "../../../base/result.ts";
import { fieldSchema } from "../../../wire/field-schema.ts";
import { sent, text } from "../../../wire/fields.ts";
import { dataReply } from "../../../wire/reply.ts";
import { view } from "../../../wire/view.ts";
import { type CheckResult, checkAll, worstOf } from "./checks.ts";

const CHECK_VIEW = view<CheckResult>({
  name: ["string", ({ name }) => name],
  title: ["string", ({ title }) => title],
  state: ["string", ({ state }) => state],
  seen: ["string", ({ seen }) => seen],
  advice: ["string", ({ advice }) => advice],
  link: ["string", ({ link }) => link],
});

const RESULT_VIEW = view<readonly CheckResult[]>({
  state: ["string", worstOf],
  checks: [[CHECK_VIEW.shape], (results) => results.map(CHECK_VIEW.show)],
});

/** What an operator should know, for the console and `grove doctor`. */
export const DOCTOR_ROUTE: Route = tokenRoute("read", "sys/doctor", {
  summary: "Checks the installation, and says what to do.",
  operationId: "read-doctor",
  answers: dataAnswer(RESULT_VIEW.shape),
  input: fieldSchema(
    { client_time: sent(text()).describe("The time of the client, in seconds since 1970") },
    "refused",
  ),
  prepare: async ({ fields: { client_time: time } }) => {
    if (time === undefined || time === "") return ok(null);
    return /^\d{1,12}(\.\d{1,9})?$/.test(time) ? ok(Number(time) * 1000) : refuse("client_time is seconds since 1970");
  },
  handle: async ({ env, installation, prepared }) =>
    dataReply(RESULT_VIEW.show(await checkAll({ env, installation, clientTime: prepared }))),
});
