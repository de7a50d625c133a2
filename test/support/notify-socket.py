"""What systemd is at the other end of NOTIFY_SOCKET: says each message and the process it came from, a JSON line each."""
import array, json, os, socket, struct, sys

listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
listener.bind(sys.argv[1])
print(json.dumps({"listening": True}), flush=True)
while True:
    data, ancillary, _, _ = listener.recvmsg(4096, 1024)
    pid = None
    for level, kind, content in ancillary:
        if kind == socket.SCM_CREDENTIALS:
            pid = struct.unpack("iII", content[:12])[0]
        elif kind == socket.SCM_RIGHTS:
            descriptors = array.array("i")
            descriptors.frombytes(content)
            for descriptor in descriptors:
                os.close(descriptor)  # the sender waits for this: its messages were read
    print(json.dumps({"text": data.decode().strip(), "pid": pid}), flush=True)
