// The requests that the service itself sends: one OpenAPI 3.1 webhook per kind of event, so that receivers can be generated.
import { type EventKind, eventKinds } from "../shared/event-kinds.ts";
import { eventDescriptions, namedPayload } from "../shared/event-payloads.ts";
import { type Lift, toJsonSchema } from "../shared/params/json-schema.ts";
import { object, timestamp } from "../shared/params/results.ts";
import { integer, oneOf } from "../shared/params/rules.ts";
import { schemaName } from "../shared/params/schema-name.ts";

const testEvent = {
  description: "What `POST /api/webhooks/{webhook_id}/test` sends.",
  data: object({ webhook_id: integer() }),
};

export function openApiWebhooks(lift: Lift): object {
  const told = eventKinds.map(
    (kind) =>
      [kind, webhookOf(kind, { ...eventDescriptions[kind], data: namedPayload(kind) }, lift)] as const,
  );
  return Object.fromEntries([...told, ["webhook.test", webhookOf("webhook.test", testEvent, lift)]]);
}

function webhookOf(
  kind: EventKind | "webhook.test",
  { description, data }: { description: string; data: Parameters<typeof toJsonSchema>[0] },
  lift: Lift,
): object {
  const message = object(
    {
      type: oneOf([kind]),
      timestamp: timestamp({ description: "When it happened, not when it is told." }),
      data,
    },
    { name: `${schemaName(kind)}Event` },
  );
  return {
    post: {
      operationId: `events.${kind}`,
      tags: ["Events"],
      summary: description,
      description:
        "Signed by the Standard Webhooks scheme. It comes at least once, with the same `webhook-id` on every try.",
      parameters,
      requestBody: {
        required: true,
        content: { "application/json": { schema: toJsonSchema(message, lift) } },
      },
      responses: {
        "2XX": { description: "It was taken. Anything else is tried again; redirects are not followed." },
        "410": { description: "It is not wanted any more: the webhook is switched off." },
      },
    },
  };
}

const header = (name: string, description: string, schema: object, required = true) => ({
  name,
  in: "header",
  required,
  description,
  schema,
});

const parameters = [
  header("webhook-id", "The delivery's name: the same on every try, so that it can be taken once.", {
    type: "string",
  }),
  header("webhook-timestamp", "When this try was signed: Unix time in seconds.", { type: "integer" }),
  header("webhook-signature", "`v1,<base64>` over `id.timestamp.body`; two while a secret is changed.", {
    type: "string",
  }),
  header("webhook-sequence", "The event's number within the tenant.", { type: "integer" }, false),
];
