// A job whose process was killed is run by another within a minute.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { join } from "node:path";
import { type BotApi, sentTo, startBotApi } from "../../support/bot-api.ts";
import { newChat } from "../../support/messenger.ts";
import {
  addressOf,
  eventually,
  type RunningProcess,
  runProcess,
  startService,
  type TestService,
} from "../../support/service.ts";

let api: BotApi;
let service: TestService;
let other: RunningProcess;
beforeAll(async () => {
  api = await startBotApi();
  service = await startService(api.settings);
});
afterAll(async () => {
  await other?.stop();
  await service.stop();
  await api.stop();
});

it("a job of a process that was killed", async () => {
  const chatId = newChat();
  let isHeld = false;
  // The process is in the midst of the job, waiting for an answer.
  api.trouble = (method) => {
    if (method !== "sendMessage" || isHeld) return undefined;
    isHeld = true;
    return "hang";
  };
  api.write(chatId, "/status");
  await eventually(async () => isHeld);
  await service.process.stop("SIGKILL");
  other = runProcess({ ...service.settings, DATA_DIR: join(service.database.folder, "other") });
  await addressOf(other);
  expect(sentTo(api, chatId)).toEqual([]);
  await eventually(async () => sentTo(api, chatId).length === 1);
  // Its end is written after the answer was sent.
  const held = "select from graphile_worker._private_jobs where locked_at is not null and attempts > 1";
  await eventually(async () => (await service.database.owner.query(held)).rowCount === 0);
});
