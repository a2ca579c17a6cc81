"""As much of a VNC client (RFC 6143) as sees a picture and types a text. Talks over anything with `send` and `receive`."""
import struct

RAW, DESKTOP_SIZE = 0, -223
UPDATE, COLOUR_MAP, BELL, CUT_TEXT = range(4)
RETURN = 0xff0d


class Display:
    def __init__(self, client):
        self.client, self.rest = client, b""

    async def take(self, count):
        while len(self.rest) < count:
            self.rest += await self.client.receive()
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    async def take_as(self, form):
        return struct.unpack(form, await self.take(struct.calcsize(form)))

    async def greet(self):
        """The handshake without a password."""
        version = await self.take(12)
        assert version.startswith(b"RFB 003."), version
        await self.client.send(b"RFB 003.008\n")
        kinds = await self.take((await self.take_as(">B"))[0])
        assert 1 in kinds, kinds
        await self.client.send(b"\1")
        assert await self.take_as(">I") == (0,)
        await self.client.send(b"\1")  # others may look too
        self.width, self.height, bits = await self.take_as(">HHB15x")
        self.pixel = bits // 8
        self.name = (await self.take((await self.take_as(">I"))[0])).decode()
        await self.client.send(struct.pack(">BxHii", 2, 2, RAW, DESKTOP_SIZE))

    async def picture(self):
        """The screen as a list of lines."""
        screen = None
        while screen is None or None in screen:
            await self.client.send(struct.pack(">BBHHHH", 3, 0, 0, 0, self.width, self.height))
            screen = await self.update(screen or [None] * self.height)
        return screen

    async def update(self, screen):
        while (kind := (await self.take_as(">B"))[0]) != UPDATE:
            await self.skip(kind)
        for _ in range((await self.take_as(">xH"))[0]):
            _, top, width, height, encoding = await self.take_as(">HHHHi")
            if encoding == DESKTOP_SIZE:
                self.width, self.height = width, height
                screen = [None] * height
                continue
            assert encoding == RAW, encoding
            for line in range(top, top + height):
                content = await self.take(width * self.pixel)
                if line < len(screen) and width == self.width:
                    screen[line] = content
        return screen

    async def skip(self, kind):
        assert kind in (BELL, CUT_TEXT), kind
        if kind == CUT_TEXT:
            await self.take((await self.take_as(">3xI"))[0])

    async def type(self, text):
        for letter in text:
            for down in (1, 0):
                await self.client.send(struct.pack(">BBxxI", 4, down, RETURN if letter == "\n" else ord(letter)))

    def colours(self, screen):
        return {line[at:at + self.pixel] for line in screen for at in range(0, len(line), self.pixel)}
