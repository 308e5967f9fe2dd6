// Checks tokens over the bus. A check costs as much as the action that follows, so the tokens of one turn of the event
// loop are checked by one call. Each token is checked as if it were alone: its bytes, and its session read from the database
// after the request arrived. A single request is checked alone, and so are all requests of a process that runs `auth` itself,
// and of one whose neighbours run a version that checks one token at a time.
import type { Context, ServiceBroker } from "moleculer";
import type { Caller } from "../shared/caller.ts";
import { sessionEnded } from "../shared/errors.ts";
import type { SessionHolder } from "../shared/session-check.ts";
import { currentContext, detached, runInOneOf, type WorkContext } from "../shared/tracing.ts";

/** Tokens of one call: headers of 16 kB are no more than one message on the bus may hold. */
const tokensMax = 32;

interface Answer {
  holder: SessionHolder | null;
  /** Another process may know the key that signed it. */
  unsure: boolean;
}

interface Question {
  ctx: Context;
  token: string;
  caller: Caller;
  context: WorkContext | undefined;
  resolve(holder: SessionHolder | Promise<SessionHolder>): void;
  reject(error: unknown): void;
}

// Declarations that Moleculer lacks.
interface Endpoints {
  hasAvailable(): boolean;
  hasLocal(): boolean;
}

class TokenQuestions {
  #waiting: Question[] = [];

  /** @throws Unauthorized for an invalid token, and the error of the bus when `auth` is unavailable */
  ask(ctx: Context, token: string, caller: Caller): Promise<SessionHolder> {
    if (!isAskedTogether(ctx.broker)) return askAlone(ctx, token, caller);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ctx, token, caller, context: currentContext(), resolve, reject });
      if (this.#waiting.length === 1) detached(() => setImmediate(() => this.#askWaiting()));
    });
  }

  #askWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += tokensMax)
      void askAll(waiting.slice(from, from + tokensMax));
  }
}

const made = new WeakMap<ServiceBroker, TokenQuestions>();

export function tokenQuestionsOf(broker: ServiceBroker): TokenQuestions {
  const questions = made.get(broker) ?? new TokenQuestions();
  made.set(broker, questions);
  return questions;
}

function isAskedTogether({ registry }: ServiceBroker): boolean {
  // Moleculer declares the return value without its methods.
  const endpoints = registry.getActionEndpoints("auth.authenticate_all") as Endpoints | undefined;
  return endpoints?.hasAvailable() === true && !endpoints.hasLocal();
}

function askAlone(ctx: Context, token: string, caller: Caller): Promise<SessionHolder> {
  return ctx.call<SessionHolder, { token: string }>("auth.authenticate", { token }, { meta: { caller } });
}

async function askAll(questions: readonly Question[]): Promise<void> {
  const [first] = questions;
  if (first === undefined) return;
  const { ctx, caller } = first;
  if (questions.length === 1) return first.resolve(follow(first, () => askAlone(ctx, first.token, caller)));
  const tokens = questions.map(({ token }) => token);
  const meta = { caller };
  const ask = () => ctx.call<Answer[], { tokens: string[] }>("auth.authenticate_all", { tokens }, { meta });
  try {
    const answers = await runInOneOf(
      questions.map(({ context }) => context),
      ask,
    );
    questions.forEach((question, at) => settle(question, answers[at]));
  } catch (error) {
    for (const question of questions) question.reject(error);
  }
}

function settle(question: Question, answer: Answer | undefined): void {
  if (answer?.unsure === true)
    question.resolve(follow(question, () => askAlone(question.ctx, question.token, question.caller)));
  else if (answer?.holder == null) question.reject(sessionEnded());
  else question.resolve(answer.holder);
}

const follow = ({ context }: Question, ask: () => Promise<SessionHolder>) => runInOneOf([context], ask);
