// The store as a bucket of a real S3 server: what every store promises, and what S3 has of its own.
import { S3Store } from "../../services/shared/store/s3-store.ts";
import { describeWithS3 } from "../support/describe-with-s3.ts";
import { startS3 } from "../support/s3.ts";
import { keepsThePromises } from "./store-promises.ts";

describeWithS3("a bucket as a store", () => {
  keepsThePromises(async () => {
    const server = await startS3();
    const store = new S3Store(server.options("promises"));
    return {
      store,
      stop: async () => {
        store.close();
        await server.stop();
      },
    };
  });
});
