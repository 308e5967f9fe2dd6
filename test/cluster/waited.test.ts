// A call that waits on its way to a process, while its caller signs out: the process stands still when it arrives, and when
// it goes on it asks again who the caller is before it does or tells anything.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Cluster, type Gateway, signInAt, startCluster } from "../support/cluster.ts";
import { describeWithNats } from "../support/describe-with-nats.ts";
import { Eavesdropper } from "../support/eavesdropper.ts";
import { eventually, type RunningProcess } from "../support/service.ts";

let cluster: Cluster;
let gateway: Gateway;
let patients: RunningProcess;
let stranger: Eavesdropper;

describeWithNats("a call that waited", () => {
  beforeAll(async () => {
    cluster = await startCluster();
    const all = "audit,auth,cache,crypto,health,mail,messenger,payments,tenants,users,webhooks";
    await cluster.startServices({ NODE_ID: "others-1", SERVICES: all });
    patients = await cluster.startServices({ NODE_ID: "patients-1", SERVICES: "patients" });
    gateway = await cluster.startGateway({ NODE_ID: "gateway-1" });
    stranger = await Eavesdropper.at(cluster.nats);
    const token = await signInAt(gateway, "admin");
    await eventually(async () => (await gateway.call("GET", "/api/patients", { token })).status === 200);
  });
  afterAll(async () => {
    patients?.child.kill("SIGCONT");
    await stranger?.close();
    await cluster?.stop();
  });

  it.each([
    ["GET", undefined],
    ["POST", { record_number: "R-4711", full_name: "Nobody" }],
  ])("%s: for a caller who has signed out meanwhile it is refused", async (method, body) => {
    const token = await signInAt(gateway, "admin");
    patients.child.kill("SIGSTOP");
    await stranger.during("REQ", async () => {});
    const sentAt = Date.now();
    const answer = gateway.call(method, "/api/patients", body === undefined ? { token } : { token, body });
    await eventually(async () => stranger.heard("REQ.patients-1").length > 0);
    expect((await gateway.call("POST", "/api/auth/logout", { token })).status).toBe(204);
    // Younger answers are believed (services/shared/session-check.ts).
    await eventually(async () => Date.now() - sentAt > 1_500);
    patients.child.kill("SIGCONT");
    expect(await answer).toMatchObject({ status: 401, body: { code: "invalid_token" } });
    const { rows } = await cluster.database.owner.query(
      "select from patients where record_number = 'R-4711'",
    );
    expect(rows).toEqual([]);
  });

  it("for a caller who is still there it is done", async () => {
    const token = await signInAt(gateway, "admin");
    patients.child.kill("SIGSTOP");
    await stranger.during("REQ", async () => {});
    const sentAt = Date.now();
    const answer = gateway.call("GET", "/api/patients", { token });
    await eventually(async () => stranger.heard("REQ.patients-1").length > 0);
    await eventually(async () => Date.now() - sentAt > 1_500);
    patients.child.kill("SIGCONT");
    expect((await answer).status).toBe(200);
  });
});
