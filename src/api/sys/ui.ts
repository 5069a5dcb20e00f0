import { aclOfRequest } from "../../auth/caller.ts";
import { openRoute, type Route, simpleRoute } from "../../auth/route.ts";
import { dataAnswer } from "../../auth/route-description.ts";
import { currentTime } from "../../base/clock.ts";
import { inGroups } from "../../base/parallel.ts";
import { DENIED, err } from "../../base/result.ts";
import type { Env } from "../../env.ts";
import { aclOfToken } from "../../identity/entity-copies.ts";
import { resultantAcl } from "../../policy/acl.ts";
import type { Mount } from "../../system/mount.ts";
import { dataReply } from "../../wire/reply.ts";
import { optional, type Shape } from "../../wire/view.ts";
import { fixedMounts, MOUNT_VIEW, type MountAtPath, optionsOf, shownMounts } from "./mounts/view.ts";

/**
 * A mount. Without a token only its type, description and options are shown, and `browser_login`: whether people can
 * log in at an identity provider.
 */
const { type: _, description: __, ...withToken } = MOUNT_VIEW.shape;
const SHOWN_MOUNT: Shape = {
  type: "string",
  description: "string",
  ...optional(withToken),
  "browser_login?": "boolean",
};

/** Mounts whose objects a request without a token asks. Of the others it is not said whether people can log in. */
const MAX_ASKED = 16;

/** True for a mount that anybody may know of. */
const isListed = ({ config }: MountAtPath[1]): boolean => config.listingVisibility === "unauth";

/** Says of mounts, by path, whether people can log in at an identity provider. One that can't say it is left out. */
async function browserLogins(env: Env, mounts: readonly Mount[]): Promise<ReadonlyMap<string, boolean>> {
  const asked = mounts.flatMap((mount) => {
    const hasProvider = env.kinds.methods.get(mount.type)?.hasProvider;
    return hasProvider ? [{ mount, hasProvider }] : [];
  });
  const answers = await inGroups(asked.slice(0, MAX_ASKED), async ({ mount, hasProvider }) => {
    // A sign-in at another mount must not depend on the object of this one.
    const answer = await hasProvider(env, mount).catch(() => undefined);
    return answer === undefined ? [] : [[mount.path, answer] as const];
  });
  return new Map(answers.flat());
}

/** Endpoints for user interfaces: mounts, and what a caller may do. */
export const UI_ROUTES: readonly Route[] = [
  openRoute("read", "sys/internal/ui/mounts", {
    summary: "Lists the mounts that the caller can use, and those visible before login.",
    operationId: "internal-ui-list-enabled-visible-mounts",
    answers: dataAnswer({ auth: { "*": SHOWN_MOUNT }, secret: { "*": SHOWN_MOUNT } }),
    handle: async (context) => {
      const { loaded } = context;
      if (!loaded.ok) return loaded;
      const installation = loaded.value;
      const { mounts } = installation;
      if (context.request.token === "") {
        const listed = mounts.filter(isListed);
        const logins = await browserLogins(context.env, listed);
        const shown = listed.map(({ path, type, description }) => {
          const browserLogin = logins.get(path);
          const known = browserLogin !== undefined && { browser_login: browserLogin };
          return [path, { type, description, options: optionsOf(type), ...known }];
        });
        return dataReply({ auth: Object.fromEntries(shown), secret: {} });
      }
      const acl = await aclOfRequest(context.env, installation, context.request);
      if (!acl) return err(DENIED);
      const now = currentTime();
      const usable = (prefix: string, all: readonly MountAtPath[]) =>
        shownMounts(all.filter(([path, mount]) => isListed(mount) || acl.grantsAnythingUnder(prefix + path, now)));
      const auth = mounts.map((mount): MountAtPath => [mount.path, mount]);
      return dataReply({ auth: usable("auth/", auth), secret: usable("", await fixedMounts(installation.clusterId)) });
    },
  }),
  openRoute("read", "sys/internal/ui/mounts/:path{.+}", {
    summary: "Shows the mount of a path.",
    operationId: "internal-ui-read-mount-information",
    parameters: { path: "A path below the mount" },
    answers: dataAnswer({ ...MOUNT_VIEW.shape, path: "string" }),
    // A path without a mount and a path that the caller may not use get the same answer.
    handle: async (context) => {
      const { loaded } = context;
      if (!loaded.ok) return loaded;
      const installation = loaded.value;
      const acl = await aclOfRequest(context.env, installation, context.request);
      if (!acl) return err(DENIED);
      const wanted = `${context.params.path ?? ""}/`;
      const mounts: MountAtPath[] = [
        ...(await fixedMounts(installation.clusterId)),
        ...installation.mounts.map((mount): MountAtPath => [`auth/${mount.path}`, mount]),
      ];
      const found = mounts.find(([path]) => wanted.startsWith(path));
      if (!found || !acl.grantsAnythingUnder(found[0], currentTime())) {
        return err({
          code: "forbidden",
          message: "preflight capability check returned 403, please ensure client's policies grant access to the path",
        });
      }
      return dataReply({ ...MOUNT_VIEW.show(found[1]), path: found[0] });
    },
  }),
  simpleRoute("read", "sys/internal/ui/resultant-acl", {
    summary: "Shows all capabilities that the caller's policies grant.",
    operationId: "internal-ui-read-resultant-acl",
    answers: dataAnswer({ root: "boolean", "exact_paths?": { "*": "object" }, "glob_paths?": { "*": "object" } }),
    handle: async ({ env, installation, caller }) => {
      const acl = await aclOfToken(env, installation, caller.record);
      return acl.ok ? dataReply({ ...resultantAcl(acl.value, currentTime()) }) : acl;
    },
  }),
];
