// Suites that need a real S3 server.
import { describeWithProgram } from "./describe-with-program.ts";
import { program, versitygw } from "./s3.ts";

export const describeWithS3 = (name: string, body: () => void): void =>
  describeWithProgram("versitygw", program !== undefined, name, body, `go install ${versitygw}`);
