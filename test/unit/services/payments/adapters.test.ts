// The adapters by themselves: signatures computed here by node:crypto, every mutation of a signed request refused.
import { createHmac } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import type { IncomingNotification, ProviderAdapter } from "../../../../services/payments/adapter.ts";
import { cardProvider } from "../../../../services/payments/card-provider.ts";
import { exposedFacts } from "../../../../services/shared/errors.ts";
import { walletProvider } from "../../../../services/payments/wallet-provider.ts";
import {
  cardBody,
  cardSecret,
  cardSignature,
  signedAs,
  walletBody,
  walletFields,
  walletSecret,
} from "../../../support/notifications.ts";
import { dice } from "../../../cluster/faults/support/seed.ts";

const t = 1_790_000_000;
const delivery = (body: string | Buffer, signature?: string, nowSeconds = t): IncomingNotification => ({
  bytes: Buffer.from(body),
  signature,
  nowMs: nowSeconds * 1000,
});
const codeOf = (
  adapter: ProviderAdapter,
  given: IncomingNotification,
  secrets: readonly string[],
): string => {
  try {
    adapter.read(given, secrets);
    return "read";
  } catch (error) {
    return error instanceof Error && "type" in error ? String(error.type) : String(error);
  }
};

/** Where the fields are that it refuses. */
const faultsOf = (adapter: ProviderAdapter, given: IncomingNotification): string[] => {
  try {
    adapter.read(given, [cardSecret]);
    return [];
  } catch (error) {
    return (exposedFacts(error)?.failures ?? []).map(({ loc }) => loc.slice(1).join("."));
  }
};

describe("the card provider", () => {
  const body = cardBody({ id: "one", paymentId: "pay-1", created: t - 5, currency: "eur" });
  const signature = cardSignature(body, cardSecret, t);
  it("says what the notification says", () => {
    expect(cardProvider.read(delivery(body, signature), [cardSecret])).toEqual({
      id: "one",
      type: "payment.succeeded",
      verified: true,
      payment: {
        paymentId: "pay-1",
        status: "succeeded",
        occurredMs: (t - 5) * 1000,
        amount: "1999",
        currency: "EUR",
        tenant: "demo",
      },
    });
  });
  it.each([
    ["an exchange rate of many digits", '"exchange_rate":1.0823456789012345678'],
    ["an id of nineteen digits", '"balance_transaction":9007199254740993123'],
    ["a number beyond all doubles", '"limit":1e999'],
    ["a key twice", '"note":1,"note":2'],
    ["half a character", '"note":"\\ud800"'],
    ["a list and an object of all that", '"list":[1e999,{"id":9007199254740993,"id":1}]'],
    ["deep names that are read elsewhere", '"x":{"data":{"object":{"amount":0.12345678901234567}}}'],
  ])("what is signed as bytes may hold anything where it is not read: %s", (_name, more) => {
    for (const place of ["{", '"object":{', '"metadata":{']) {
      const altered = body.replace(place, `${place}${more},`);
      const given = delivery(altered, cardSignature(altered, cardSecret, t));
      expect(cardProvider.read(given, [cardSecret]).payment).toMatchObject({
        amount: "1999",
        tenant: "demo",
      });
    }
  });
  it.each([
    ["the amount not exact", '"amount":1999', '"amount":1999.00000000000000001', "data.object.amount"],
    ["the amount twice", '"amount":1999', '"amount":1,"amount":1999', "data.object.amount"],
    ["the moment beyond all doubles", '"created":1789999995', '"created":1e999', "created"],
    ["the data twice", '"data":', '"data":{},"data":', "data"],
    [
      "the tenant twice, escaped",
      '"tenant":',
      '"\\u0074enant":"other","tenant":',
      "data.object.metadata.tenant",
    ],
  ])("what is read has one reading: %s", (_name, from, to, where) => {
    const altered = body.replace(from, to);
    expect(altered).not.toBe(body);
    expect(faultsOf(cardProvider, delivery(altered, cardSignature(altered, cardSecret, t)))).toContain(where);
  });
  it("a known vector is accepted: RFC 2104 as any library computes it", () => {
    const secret = "whsec_0123456789abcdef";
    const hex = createHmac("sha256", secret).update(`1700000000.${body}`).digest("hex");
    const given = delivery(body, `t=1700000000,v1=${hex}`, 1_700_000_100);
    expect(codeOf(cardProvider, given, [secret])).toBe("read");
  });
  it.each([
    [-301, "invalid_signature"],
    [-300, "read"],
    [0, "read"],
    [300, "read"],
    [301, "invalid_signature"],
  ])("%i s from its time: %s", (seconds, code) => {
    expect(codeOf(cardProvider, delivery(body, signature, t + seconds), [cardSecret])).toBe(code);
  });
  it("each of three secrets opens it, a fourth does not", () => {
    const others = ["another-secret-0001", "another-secret-0002"];
    for (const at of [0, 1, 2])
      expect(codeOf(cardProvider, delivery(body, signature), others.toSpliced(at, 0, cardSecret))).toBe(
        "read",
      );
    expect(codeOf(cardProvider, delivery(body, signature), others)).toBe("invalid_signature");
  });
  it("without a secret it is read and not verified, whatever the header says", () => {
    for (const header of [undefined, signature, "nonsense"])
      expect(cardProvider.read(delivery(body, header), [])).toMatchObject({ verified: false, id: "one" });
  });
  it("no request with one byte altered is accepted", () => {
    const roll = dice(500);
    for (let round = 0; round < 500; round++) {
      const bytes = Buffer.from(body);
      const at = roll(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << roll(8));
      expect(codeOf(cardProvider, delivery(bytes, signature), [cardSecret])).toBe("invalid_signature");
      const header = Buffer.from(signature);
      const place = roll(header.length);
      header[place] = (header[place] ?? 0) ^ (1 << roll(8));
      const altered = header.toString("latin1");
      // Hex means the same in capitals; what stands before the first "=" of a part is looked at, and nothing else.
      if (altered.toLowerCase() === signature.toLowerCase()) continue;
      expect(codeOf(cardProvider, delivery(body, altered), [cardSecret])).toBe("invalid_signature");
    }
  });
  it("a header of a thousand signatures is not worked through", () => {
    const header = `${signature},${`v1=${"0".repeat(64)},`.repeat(1_000)}`;
    expect(codeOf(cardProvider, delivery(body, header), [cardSecret])).toBe("invalid_signature");
  });
});

describe("the wallet provider", () => {
  it("an example of RFC 8785 is canonical as the RFC prints it", () => {
    // Section 3.2.2 and 3.2.3 of the RFC, its number too long to be exact left out.
    const canonical =
      '{"literals":[null,true,false],"numbers":[1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}';
    const body = `{"numbers":[1E30,4.50,2e-3,0.000000000000000000000000001],
      "string":"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false],
      "signature":"${signedAs(canonical)}"}`;
    expect(codeOf(walletProvider, delivery(body), [walletSecret])).toBe("malformed_notification");
    expect(codeOf(walletProvider, delivery(body.replace("4.50", "4.51")), [walletSecret])).toBe(
      "invalid_signature",
    );
  });
  it("a number that is not read is signed as the nearest double, as RFC 8785 has it", () => {
    const canonical = JSON.stringify({ ...walletFields({ id: "rate" }), zz: [0] }).replace(
      "[0]",
      "[9007199254740992,1.0823456789012347]",
    );
    const signature = signedAs(canonical);
    const body = `{"zz":[9007199254740993,1.0823456789012345678],"signature":"${signature}",`;
    const given = body + JSON.stringify(walletFields({ id: "rate" })).slice(1);
    expect(codeOf(walletProvider, delivery(given), [walletSecret])).toBe("read");
    expect(codeOf(walletProvider, delivery(given.replace("78]", "79]")), [walletSecret])).toBe("read");
    expect(codeOf(walletProvider, delivery(given.replace("1.08", "1.09")), [walletSecret])).toBe(
      "invalid_signature",
    );
  });
  it.each([
    ["its amount not exact", '"amount":"19.99"', '"amount":19.990000000000000001'],
    ["a key twice anywhere", '"id":', '"more":{"a":1,"a":2},"id":'],
    ["half a character anywhere", '"id":', '"more":"\\ud800","id":'],
    ["a number beyond all doubles anywhere", '"id":', '"more":[1e999],"id":'],
  ])("must have one canonical form: %s", (_name, from, to) => {
    const altered = walletBody({ id: "one" }).replace(from, to);
    expect(altered).toContain(to);
    expect(codeOf(walletProvider, delivery(altered), [])).toBe("malformed_notification");
  });
  it("keys are sorted by UTF-16 code units, and those of prototypes are keys like others", () => {
    const canonical = '{"":0,"1":1,"__proto__":{"toJSON":2},"é":3,"€":4,"😀":5,"\ufb33":6}';
    const keys = '"\ufb33":6,"😀":5,"€":4,"é":3,"1":1,"__proto__":{"toJSON":2},"":0';
    const body = `{${keys},"signature":"${signedAs(canonical)}"}`;
    expect(codeOf(walletProvider, delivery(body), [walletSecret])).toBe("malformed_notification");
  });
  it("no mutation of a signed body is accepted, and nothing but the signature can be what is wrong with it", () => {
    const body = walletBody({ id: "one", amount: "12.34" });
    expect(codeOf(walletProvider, delivery(body), [walletSecret])).toBe("read");
    const roll = dice(501);
    const codes = new Set<string>();
    for (let round = 0; round < 500; round++) {
      const bytes = Buffer.from(body);
      const at = roll(bytes.length);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << roll(7));
      if (bytes.toString().toLowerCase() === body.toLowerCase()) continue;
      codes.add(codeOf(walletProvider, delivery(bytes), [walletSecret]));
    }
    expect([...codes].sort()).toEqual(["invalid_signature", "malformed_notification"]);
  });
  it.each([
    ["12.34", "12.34"],
    ["0", "0"],
    ["100000000000000.00000001", "100000000000000.00000001"],
    [7, "7"],
    [0.1, "0.1"],
  ])("the amount %p stays %s", (amount, kept) => {
    const read = walletProvider.read(delivery(walletBody({ id: "a", amount })), [walletSecret]);
    expect(read.payment?.amount).toBe(kept);
  });
  it.each(["", "-1", "1e3", ".5", "1.", "1,5", " 1", "١", "0x1", -1, 1e21])(
    "the amount %p is none",
    (amount) => {
      const body = walletBody({ id: "a", amount });
      expect(codeOf(walletProvider, delivery(body), [walletSecret])).toBe("malformed_notification");
    },
  );
  it.each([
    ["2026-09-21T12:00:00Z", "2026-09-21T12:00:00.000Z"],
    ["2026-09-21T14:00:00.1234567+02:00", "2026-09-21T12:00:00.123Z"],
    ["2026-09-21", "2026-09-21T00:00:00.000Z"],
  ])("the moment %s is %s", (occurredAt, iso) => {
    const read = walletProvider.read(delivery(walletBody({ id: "a", occurredAt })), [walletSecret]);
    expect(new Date(read.payment?.occurredMs ?? 0).toISOString()).toBe(iso);
  });
  it.each(["1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "12:00", ""])(
    "the moment %s is none",
    (occurredAt) => {
      const body = walletBody({ id: "a", occurredAt });
      expect(codeOf(walletProvider, delivery(body), [walletSecret])).toBe("malformed_notification");
    },
  );
});
