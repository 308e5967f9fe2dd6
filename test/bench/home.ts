// The scene of most parts: one tenant of 10 000 users in a database of its own, the service and the bare program on it.
import { addUsers, createTenants } from "./fill.ts";
import type { Scene, Stage } from "./stage.ts";
import { tokensOf, warmUp } from "./tenant-clients.ts";

/** Of the home tenant; fewer in the smallest form, but as many as the parts sign in. */
export const homeUsersOf = (stage: Stage) => stage.pick(10_000, 10_000, 1_000);
export const servicePaths = {
  me: "/api/users/me",
  list: "/api/admin/users?page=1&limit=50",
  login: "/api/auth/login",
};
export const barePaths = { me: "/me", list: "/users?page=1&limit=50", login: "/login" };
export const homeSubdomain = "home";

export interface Home extends Scene {
  tenantId: number;
  tokens: readonly string[];
}

export interface Bare {
  url: string;
  processId: number;
  tokens: readonly string[];
}

export function homeOf(stage: Stage): Promise<Home> {
  return stage.shared("home", async () => {
    const scene = await stage.scene("home");
    const [tenant] = await createTenants(scene.owner, [homeSubdomain]);
    if (tenant === undefined) throw new Error("the tenant was not made");
    await addUsers(scene.owner, [tenant], homeUsersOf(stage));
    const tokens = await tokensOf(stage, scene.url, servicePaths.login, homeSubdomain);
    await warmUp(stage, scene.url, [servicePaths.me, servicePaths.list], tokens);
    return { ...scene, tenantId: tenant.id, tokens };
  });
}

export function bareOf(stage: Stage): Promise<Bare> {
  return stage.shared("bare", async () => {
    const { ownerUrl } = await homeOf(stage);
    const { captured: url, processId } = await stage.startBare(ownerUrl);
    const tokens = await tokensOf(stage, url, barePaths.login, homeSubdomain);
    await warmUp(stage, url, [barePaths.me, barePaths.list], tokens);
    return { url, processId, tokens };
  });
}
